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
	Orders      int          `json:"orders"`
	Rounds      int          `json:"rounds"`
	Round       string       `json:"round"`
	Results     []result     `json:"results"`
	Allocations []allocation `json:"allocations"`
	Files       []file       `json:"files"`
	Deadlocks   int64        `json:"deadlocks"`
}

// result is one scenario from one number of clients.
type result struct {
	Scenario string  `json:"scenario"`
	Clients  int     `json:"clients"`
	Rate     spread  `json:"per_second"` // requests, orders or rows
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	Refused  int     `json:"refused"` // 503 answers, not in the rate
	Against  string  `json:"against,omitempty"`
	Beside   float64 `json:"beside_p50_ms,omitempty"`
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
	pieces := float64(max(1, sc.pieces))
	rate := own.rates()
	r := result{
		Scenario: sc.name, Clients: clients, Against: sc.against, Refused: own.refused(),
		Rate: spread{rate.Median * pieces, rate.Min * pieces, rate.Max * pieces},
		P50:  ms(own.percentile(0.50)), P99: ms(own.percentile(0.99)),
	}
	if other != nil {
		r.Ratio = new(own.ratio(other))
		r.Beside = ms(other.percentile(0.50))
	}
	r.judge(sc.aim)
	return r
}

// judge says what was to be reached and whether it was.
func (r *result) judge(a aim) {
	var aims []string
	r.Met = true
	ask := func(met bool, format string, want any) {
		r.Met = r.Met && met
		aims = append(aims, fmt.Sprintf(format, want))
	}
	if a.ratio > 0 {
		ask(r.Ratio.Median >= a.ratio, "≥ %.2f", a.ratio)
	}
	if a.p50 > 0 && r.Clients == 1 {
		ask(r.P50 <= ms(a.p50), "≤ %d ms", a.p50.Milliseconds())
	}
	r.Aim = strings.Join(aims, ", ")
}

const tableHead = "scenario                             clients    per s   p50 ms   p99 ms  ratio (min-max) against                        aim                    change"

// line is the result as a row of the table; before is the last run's, if it had one.
func (r result) line(before *result) string {
	ratio, aim, change := "", "", ""
	if r.Ratio != nil {
		ratio = fmt.Sprintf("%.2f (%.2f-%.2f) %s, %.1f ms", r.Ratio.Median, r.Ratio.Min, r.Ratio.Max, r.Against, r.Beside)
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
	return strings.TrimRight(fmt.Sprintf("%-36s %7d %8.0f %8.2f %8.2f  %-46s %-22s %s",
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
			figure += fmt.Sprintf(", %.2f of %s in %.1f ms", m.Ratio.Median, m.Against, m.Beside)
		}
		fmt.Fprintf(out, "  %s, %d clients: %s, the aim is %s\n", m.Scenario, m.Clients, figure, m.Aim)
	}
	fmt.Fprintln(out, "\nallocations a request, network aside:")
	for _, a := range r.Allocations {
		fmt.Fprintf(out, "  %-28s %6.0f objects %8.0f bytes\n", a.Request, a.Objects, a.Bytes)
	}
	if len(r.Files) > 0 {
		fmt.Fprintln(out, "\nfiles:")
	}
	for _, f := range r.Files {
		fmt.Fprintln(out, f.line())
	}
	fmt.Fprintf(out, "\ndeadlocks: %d\n", r.Deadlocks)
}

// loadReport reads the last run's report. It returns an empty one if there is
// none, or none on as many products and orders.
func loadReport(path string, products, orders int) (report, error) {
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
	if r.Products != products || r.Orders != orders {
		return report{}, nil
	}
	return r, nil
}

// with returns the report with what before had of scenarios that this run was not
// asked for, so that they are compared again some day.
func (r report) with(before report, o options) report {
	for _, old := range before.Results {
		asked := o.run.MatchString(old.Scenario) && slices.Contains(o.clients, old.Clients)
		if !asked && r.find(old.Scenario, old.Clients) == nil {
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
		Products: o.products, Orders: o.orders, Rounds: o.rounds, Round: o.time.String(),
	}
}
