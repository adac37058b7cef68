package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// report contains all measurements of a run.
type report struct {
	Results    []result
	Files      []file
	Start      *startup
	Imports    []imported
	Neighbours *neighbours
}

// result is one scenario with one number of clients.
type result struct {
	Scenario string
	Clients  int
	Rate     spread  // requests, orders or rows per second
	P50, P99 float64 // milliseconds
	Refused  int     // 503 responses, not in the rate
	Against  string
	Baseline float64 // p50 in milliseconds
	Ratio    *spread
	Target   string
	Met      bool
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

// line formats a row of the table. before is an earlier result to compare with, or nil.
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

// summary prints missed targets, files and starts.
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
