package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// report is everything a run measured; it is kept for the next one to compare with.
type report struct {
	At          time.Time    `json:"at"`
	Go          string       `json:"go"`
	Processors  int          `json:"processors"`
	Products    int          `json:"products"`
	Rounds      int          `json:"rounds"`
	Round       string       `json:"round"`
	Results     []result     `json:"results"`
	Allocations []allocation `json:"allocations"`
}

// result is one scenario from one number of clients.
type result struct {
	Scenario string  `json:"scenario"`
	Clients  int     `json:"clients"`
	Rate     spread  `json:"requests_per_second"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	Refused  int     `json:"refused"` // 503 answers, not in the rate
	Against  string  `json:"against,omitempty"`
	Ratio    *spread `json:"ratio,omitempty"`
	Aim      string  `json:"aim,omitempty"`
	Met      bool    `json:"met"`
}

// allocation is what the process allocates for one request, in-process.
type allocation struct {
	Request string  `json:"request"`
	Objects float64 `json:"objects"`
	Bytes   float64 `json:"bytes"`
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// resultOf sums up the rounds of a scenario; other is nil where it has nothing
// beside it.
func resultOf(sc scenario, clients int, own, other *side) result {
	r := result{
		Scenario: sc.name, Clients: clients, Rate: own.rates(), Against: sc.against, Refused: own.refused(),
		P50: ms(own.percentile(0.50)), P99: ms(own.percentile(0.99)),
	}
	if other != nil {
		r.Ratio = new(own.ratio(other))
	}
	switch {
	case sc.aim.ratio > 0:
		r.Aim = fmt.Sprintf("≥ %.2f", sc.aim.ratio)
		r.Met = r.Ratio.Median >= sc.aim.ratio
	case sc.aim.p50 > 0 && clients == 1:
		r.Aim = fmt.Sprintf("≤ %d ms", sc.aim.p50.Milliseconds())
		r.Met = r.P50 <= ms(sc.aim.p50)
	}
	return r
}

const tableHead = "scenario                             clients    req/s   p50 ms   p99 ms  ratio (min-max) against              aim        change"

// line is the result as a row of the table; before is the last run's, if it had one.
func (r result) line(before *result) string {
	ratio, aim, change := "", "", ""
	if r.Ratio != nil {
		ratio = fmt.Sprintf("%.2f (%.2f-%.2f) %s", r.Ratio.Median, r.Ratio.Min, r.Ratio.Max, r.Against)
	}
	if r.Aim != "" {
		aim = map[bool]string{true: "met ", false: "MISSED "}[r.Met] + r.Aim
	}
	if before != nil && before.Rate.Median > 0 {
		change = fmt.Sprintf("%+.0f %%", 100*(r.Rate.Median/before.Rate.Median-1))
	}
	if r.Refused > 0 {
		change += fmt.Sprintf("  (%d refused with 503)", r.Refused)
	}
	return strings.TrimRight(fmt.Sprintf("%-36s %7d %8.0f %8.2f %8.2f  %-36s %-15s %s",
		r.Scenario, r.Clients, r.Rate.Median, r.P50, r.P99, ratio, aim, change), " ")
}

// find returns the same scenario of an earlier run on as many products.
func (r report) find(scenario string, clients int) *result {
	for i := range r.Results {
		if r.Results[i].Scenario == scenario && r.Results[i].Clients == clients {
			return &r.Results[i]
		}
	}
	return nil
}

// summary ends the table: the aims that were missed, and the allocations.
func (r report) summary(out io.Writer) {
	met, missed := 0, []result{}
	for _, result := range r.Results {
		switch {
		case result.Aim == "":
		case result.Met:
			met++
		default:
			missed = append(missed, result)
		}
	}
	fmt.Fprintf(out, "\naims: %d met, %d missed\n", met, len(missed))
	for _, m := range missed {
		figure := fmt.Sprintf("%.1f ms", m.P50)
		if m.Ratio != nil {
			figure = fmt.Sprintf("%.2f of %s", m.Ratio.Median, m.Against)
		}
		fmt.Fprintf(out, "  %s, %d clients: %s, the aim is %s\n", m.Scenario, m.Clients, figure, m.Aim)
	}
	fmt.Fprintln(out, "\nallocations a request, network aside:")
	for _, a := range r.Allocations {
		fmt.Fprintf(out, "  %-28s %6.0f objects %8.0f bytes\n", a.Request, a.Objects, a.Bytes)
	}
}

// loadReport reads the last run's report. It returns an empty one if there is
// none, or none on as many products.
func loadReport(path string, products int) (report, error) {
	var r report
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(content, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", path, err)
	}
	if r.Products != products {
		return report{}, nil
	}
	return r, nil
}

// with returns the report with what before had of scenarios that this run was not
// asked for, so that they are compared again some day.
func (r report) with(before report, o options) report {
	for _, old := range before.Results {
		if !o.run.MatchString(old.Scenario) || !slices.Contains(o.clients, old.Clients) {
			r.Results = append(r.Results, old)
		}
	}
	return r
}

func (r report) save(path string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, append(content, '\n'), 0o600)
}

func newReport(o options) report {
	return report{
		At: time.Now().UTC(), Go: runtime.Version(), Processors: runtime.NumCPU(),
		Products: o.products, Rounds: o.rounds, Round: o.time.String(),
	}
}
