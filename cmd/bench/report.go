package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// result is one scenario with one number of clients.
type result struct {
	Scenario string
	Clients  int
	Rate     spread  // requests, orders or rows per second
	P50, P99 float64 // milliseconds
	Memory   uint64  // bytes; 0 is not measured
	Refused  int     // 503 responses, not in the rate
	Against  string
	Baseline float64 // p50 in milliseconds
	Ratio    *spread
	Target   string
	Met      bool
}

// results are all of a run.
type results []result

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// result summarizes the rounds of the work, and of the baseline if there is one.
func (sc scenario) result(sides []*side) result {
	own, pieces := sides[0], float64(max(1, sc.pieces))
	rate := own.rates()
	r := result{
		Scenario: sc.name, Clients: own.clients, Against: sc.against, Refused: own.refused(),
		Rate: spread{rate.Median * pieces, rate.Min * pieces, rate.Max * pieces},
		P50:  ms(own.percentile(0.50)), P99: ms(own.percentile(0.99)),
	}
	if len(sides) > 1 {
		r.Ratio = new(own.ratio(sides[1]))
		r.Baseline = ms(sides[1].percentile(0.50))
	}
	if sc.memory != nil {
		r.Memory = sc.memory()
	}
	r.compare(sc.target)
	return r
}

// compare sets Target and Met.
func (r *result) compare(t target) {
	var targets []string
	r.Met = true
	add := func(met bool, format string, value any) {
		r.Met = r.Met && met
		targets = append(targets, fmt.Sprintf(format, value))
	}
	if t.ratio > 0 {
		add(r.Ratio.Median >= t.ratio, "≥ %.2f", t.ratio)
	}
	if t.p50 > 0 && r.Clients == 1 {
		add(r.P50 <= ms(t.p50), "≤ %d ms", t.p50.Milliseconds())
	}
	if t.later > 0 {
		add(r.P50 <= r.Baseline+ms(t.later), "≤ %d ms more", t.later.Milliseconds())
	}
	if t.memory > 0 {
		add(r.Memory <= t.memory, "≤ %d MiB", t.memory>>20)
	}
	r.Target = strings.Join(targets, ", ")
}

const tableHead = "scenario                             clients    per s   p50 ms   p99 ms  " +
	"ratio (min-max) against                        target                 change"

// line formats a row of the table. before is an earlier result to compare with, or nil.
func (r result) line(before *result) string {
	ratio, target, notes := "", "", ""
	if r.Ratio != nil {
		ratio = fmt.Sprintf("%.2f (%.2f-%.2f) %s, %.1f ms",
			r.Ratio.Median, r.Ratio.Min, r.Ratio.Max, r.Against, r.Baseline)
	}
	if r.Target != "" {
		target = verdict(r.Met) + " " + r.Target
	}
	if before != nil && before.Rate.Median > 0 {
		notes = fmt.Sprintf("%+.0f %%", 100*(r.Rate.Median/before.Rate.Median-1))
	}
	if r.Memory > 0 {
		notes += fmt.Sprintf("%d MiB of memory", r.Memory>>20)
	}
	if r.Refused > 0 {
		notes += fmt.Sprintf("  (%d refused with 503)", r.Refused)
	}
	return strings.TrimRight(fmt.Sprintf("%-36s %7d %8.0f %8.2f %8.2f  %-46s %-22s %s",
		r.Scenario, r.Clients, r.Rate.Median, r.P50, r.P99, ratio, target, notes), " ")
}

func verdict(met bool) string { return map[bool]string{true: "met", false: "MISSED"}[met] }

// find returns the result of a scenario or nil.
func (r results) find(scenario string, clients int) *result {
	for i := range r {
		if r[i].Scenario == scenario && r[i].Clients == clients {
			return &r[i]
		}
	}
	return nil
}

// printTargets prints missed targets.
func (r results) printTargets(out io.Writer) {
	missed := slices.DeleteFunc(slices.Clone(r), func(r result) bool { return r.Met })
	fmt.Fprintf(out, "\nmissed targets: %d\n", len(missed))
	for _, result := range missed {
		fmt.Fprintln(out, " ", result.line(nil))
	}
}
