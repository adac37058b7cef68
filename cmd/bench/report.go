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

// report contains all measurements of a run. The next run compares with it.
type report struct {
	At         time.Time   `json:"at"`
	Go         string      `json:"go"`
	Processors int         `json:"processors"`
	Products   int         `json:"products"`
	Orders     int         `json:"orders"`
	Rounds     int         `json:"rounds"`
	Round      string      `json:"round"`
	Results    []result    `json:"results"`
	Files      []file      `json:"files"`
	Start      *startup    `json:"start,omitempty"`
	Imports    []imported  `json:"imports"`
	Neighbours *neighbours `json:"neighbours,omitempty"`
	Deadlocks  int64       `json:"deadlocks"`
}

// result is one scenario with one number of clients.
type result struct {
	Scenario string  `json:"scenario"`
	Clients  int     `json:"clients"`
	Rate     spread  `json:"per_second"` // requests, orders or rows
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	Refused  int     `json:"refused"` // 503 responses, not in the rate
	Against  string  `json:"against,omitempty"`
	Baseline float64 `json:"baseline_p50_ms,omitempty"`
	Ratio    *spread `json:"ratio,omitempty"`
	Target   string  `json:"target,omitempty"`
	Met      bool    `json:"met"`
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// resultOf summarizes the rounds of a scenario; other is nil if it has no baseline.
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
		r.Baseline = ms(other.percentile(0.50))
	}
	r.check(sc.target)
	return r
}

// check sets Target and Met.
func (r *result) check(t target) {
	var targets []string
	r.Met = true
	if t.ratio > 0 {
		r.Met = r.Ratio.Median >= t.ratio
		targets = append(targets, fmt.Sprintf("≥ %.2f", t.ratio))
	}
	if t.p50 > 0 && r.Clients == 1 {
		r.Met = r.Met && r.P50 <= ms(t.p50)
		targets = append(targets, fmt.Sprintf("≤ %d ms", t.p50.Milliseconds()))
	}
	r.Target = strings.Join(targets, ", ")
}

const tableHead = "scenario                             clients    per s   p50 ms   p99 ms  " +
	"ratio (min-max) against                        target                 change"

// line formats a row of the table. before is the result of the last run or nil.
func (r result) line(before *result) string {
	ratio, target, change := "", "", ""
	if r.Ratio != nil {
		ratio = fmt.Sprintf("%.2f (%.2f-%.2f) %s, %.1f ms",
			r.Ratio.Median, r.Ratio.Min, r.Ratio.Max, r.Against, r.Baseline)
	}
	if r.Target != "" {
		target = map[bool]string{true: "met ", false: "MISSED "}[r.Met] + r.Target
	}
	if before != nil && before.Rate.Median > 0 {
		change = fmt.Sprintf("%+.0f %%", 100*(r.Rate.Median/before.Rate.Median-1))
	}
	if r.Refused > 0 {
		change += fmt.Sprintf("  (%d refused with 503)", r.Refused)
	}
	return strings.TrimRight(fmt.Sprintf("%-36s %7d %8.0f %8.2f %8.2f  %-46s %-22s %s",
		r.Scenario, r.Clients, r.Rate.Median, r.P50, r.P99, ratio, target, change), " ")
}

// find returns the result of a scenario or nil.
func (r report) find(scenario string, clients int) *result {
	for i := range r.Results {
		if r.Results[i].Scenario == scenario && r.Results[i].Clients == clients {
			return &r.Results[i]
		}
	}
	return nil
}

// summary prints missed targets, files, starts and deadlocks.
func (r report) summary(out io.Writer) {
	r.targets(out)
	if len(r.Files) > 0 {
		fmt.Fprintln(out, "\nfiles:")
	}
	for _, f := range r.Files {
		fmt.Fprintln(out, f)
	}
	if r.Start != nil {
		fmt.Fprintf(out, "\nprogram:\n%s\n", r.Start)
	}
	fmt.Fprintf(out, "\ndeadlocks: %d\n", r.Deadlocks)
}

// targets prints missed targets.
func (r report) targets(out io.Writer) {
	met, missed := 0, []result{}
	for _, result := range r.Results {
		switch {
		case result.Target == "":
		case result.Met:
			met++
		default:
			missed = append(missed, result)
		}
	}
	fmt.Fprintf(out, "\ntargets: %d met, %d missed\n", met, len(missed))
	for _, m := range missed {
		figure := fmt.Sprintf("%.1f ms", m.P50)
		if m.Ratio != nil {
			figure += fmt.Sprintf(", %.2f of %s in %.1f ms", m.Ratio.Median, m.Against, m.Baseline)
		}
		fmt.Fprintf(out, "  %s, %d clients: %s, target %s\n", m.Scenario, m.Clients, figure, m.Target)
	}
}

// loadReport reads the report of the last run. It returns an empty report if there is none
// with the same numbers of products and orders.
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

// with adds the results of an earlier run for scenarios that this run did not include.
func (r report) with(before report, o options) report {
	for _, old := range before.Results {
		included := o.run.MatchString(old.Scenario) && slices.Contains(o.clients, old.Clients)
		if !included && r.find(old.Scenario, old.Clients) == nil {
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
