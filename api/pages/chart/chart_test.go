package chart_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/api/pages/chart"
)

func newChart(values ...float64) chart.Chart {
	c := chart.Chart{
		ID: "id", Title: "Revenue <by> day", Description: `"Quoted" & more`, Compared: true,
		Format: func(v float64) string { return fmt.Sprint(v) },
	}
	for i := range values {
		c.Points = append(c.Points, chart.Point{
			Label: fmt.Sprint("L", i), Tip: "<tip>", Now: &values[i], Comparison: new(values[i] / 2),
			Parts: []float64{values[i] / 4, values[i] * 3 / 4},
		})
	}
	return c
}

// A chart is well-formed, has no style and no script, and draws nothing outside the element.
func TestChartsAreWellFormed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e15, 1e15), 1, 400).Draw(t, "values")
		c := newChart(values...)
		for _, drawn := range []string{string(c.Bars()), string(c.Lines()), string(c.Stacks())} {
			d := xml.NewDecoder(strings.NewReader(drawn))
			for {
				token, err := d.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%v in %.300s", err, drawn)
				}
				element, ok := token.(xml.StartElement)
				if !ok {
					continue
				}
				for _, a := range element.Attr {
					var n float64
					if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
						t.Fatalf("%s has the attribute %s", element.Name.Local, a.Name.Local)
					}
					if _, err := fmt.Sscanf(a.Value, "%g", &n); err == nil && (n < -1 || n > 241) {
						t.Fatalf("%s has %s = %s", element.Name.Local, a.Name.Local, a.Value)
					}
				}
			}
		}
	})
}

func TestAChartShowsItsValues(t *testing.T) {
	t.Parallel()
	bars := string(newChart(0, 100, 50).Bars())
	for _, want := range []string{
		`role="img" aria-labelledby="id-title id-text"`, "<title id=\"id-title\">Revenue &lt;by&gt; day</title>", "&#34;Quoted&#34; &amp; more",
		">0</text>", ">20</text>", ">100</text>", ">L0</text>", ">L2</text>", "<title>&lt;tip&gt;</title>",
	} {
		if !strings.Contains(bars, want) {
			t.Errorf("the chart has no %s: %s", want, bars)
		}
	}
	if n := strings.Count(bars, `<rect class="now"`); n != 2 {
		t.Errorf("%d bars, want 2, because zero has none", n)
	}
	lines := string(newChart(0, 100, 50).Lines())
	if n := strings.Count(lines, `<line class="now"`); n != 2 {
		t.Errorf("%d lines, want 2 between 3 points", n)
	}
	stacks := string(newChart(0, 100, 50).Stacks())
	for _, want := range []string{
		`<rect class="part0" x="38.333%" y="162.0" width="23.333%" height="50.0"/>`,
		`<rect class="part1" x="38.333%" y="12.0" width="23.333%" height="150.0"/>`,
	} {
		if !strings.Contains(stacks, want) {
			t.Errorf("the chart has no %s: %s", want, stacks)
		}
	}
	if n := strings.Count(stacks, `<rect class="part`); n != 4 {
		t.Errorf("%d parts, want 4, because zero has none", n)
	}
	whole := newChart(0, 1)
	whole.Whole = true
	if bars := string(whole.Bars()); strings.Contains(bars, ">0.") || !strings.Contains(bars, ">1</text>") {
		t.Errorf("the axis of whole numbers has fractions: %s", bars)
	}
	if none := newChart().Bars(); none != "" {
		t.Errorf("without points = %s, want nothing", none)
	}
}
