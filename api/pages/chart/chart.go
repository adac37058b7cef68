// Package chart draws bar, line and stacked bar charts as SVG elements without scripts and inline styles.
//
// Horizontal positions are percentages and vertical ones are pixels, so that a chart has the width of
// its container and its text keeps its size. The colours are those of the classes in settings.css. A
// chart has a title and a description; the page shows the same figures as a table.
package chart

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

const (
	height   = 240.0 // of the element, in pixels
	top      = 12.0  // of the highest line
	bottom   = 212.0 // of the line at the lowest value; the labels are below
	left     = 48.0  // width of the labels of the values
	maxSteps = 5     // of the values on the axis
	// labels is how many labels fit on the axis, and narrowLabels on a telephone.
	labels, narrowLabels = 12, 4
)

// Chart is one series of values and, behind it, those that it is compared with.
type Chart struct {
	ID          string // unique in the page
	Title       string
	Description string
	Points      []Point
	// Compared is set if the points have a value to compare with.
	Compared bool
	// Format returns the text of a value on the axis. Whole is set if values are whole numbers.
	Format func(float64) string
	Whole  bool
}

// Point is a position on the horizontal axis. Its values may be missing.
type Point struct {
	Label      string // on the axis
	Tip        string // the figures in words, which a pointer shows
	Now        *float64
	Comparison *float64
	// Parts add up to Now. Only Stacks draws them.
	Parts []float64
	// Link is where a click on the point leads, or empty. The keyboard reaches the same page from the table.
	Link string
}

// Bars returns the chart with a bar for each point.
func (c Chart) Bars() template.HTML {
	return c.draw(func(b *strings.Builder, y scale) {
		step := 100 / float64(len(c.Points))
		for i, p := range c.Points {
			x := float64(i) * step
			if c.Compared && p.Comparison != nil {
				bar(b, "before", x+.08*step, .84*step, y, 0, *p.Comparison)
			}
			if p.Now != nil {
				bar(b, "now", x+.2*step, .6*step, y, 0, *p.Now)
			}
		}
	})
}

// Stacks returns the chart with the parts of each point on top of each other. The classes of the parts are part0, part1
// and so on.
func (c Chart) Stacks() template.HTML {
	return c.draw(func(b *strings.Builder, y scale) {
		step := 100 / float64(len(c.Points))
		for i, p := range c.Points {
			from := 0.0
			for n, part := range p.Parts {
				bar(b, fmt.Sprint("part", n), (float64(i)+.15)*step, .7*step, y, from, from+part)
				from += part
			}
		}
	})
}

// bar draws the values between from and to.
func bar(b *strings.Builder, class string, x, width float64, y scale, from, to float64) {
	if from == to {
		return
	}
	high, low := y.at(math.Max(from, to)), y.at(math.Min(from, to))
	fmt.Fprintf(b, `<rect class="%s" x="%.3f%%" y="%.1f" width="%.3f%%" height="%.1f"/>`,
		class, x, high, width, math.Max(low-high, 1))
}

// Lines returns the chart with a line through the points.
func (c Chart) Lines() template.HTML {
	return c.draw(func(b *strings.Builder, y scale) {
		if c.Compared {
			c.line(b, "before", y, func(p Point) *float64 { return p.Comparison })
		}
		c.line(b, "now", y, func(p Point) *float64 { return p.Now })
	})
}

// line draws segments, because a path cannot have percentages.
func (c Chart) line(b *strings.Builder, class string, y scale, value func(Point) *float64) {
	step := 100 / float64(len(c.Points))
	for i := 1; i < len(c.Points); i++ {
		from, to := value(c.Points[i-1]), value(c.Points[i])
		if from == nil || to == nil {
			continue
		}
		fmt.Fprintf(b, `<line class="%s" x1="%.3f%%" y1="%.1f" x2="%.3f%%" y2="%.1f"/>`,
			class, (float64(i)-.5)*step, y.at(*from), (float64(i)+.5)*step, y.at(*to))
	}
}

// scale maps values to vertical positions.
type scale struct{ low, high, step float64 }

func (s scale) at(value float64) float64 {
	return bottom - (value-s.low)/(s.high-s.low)*(bottom-top)
}

// scale returns a scale with round steps that has zero and all values.
func (c Chart) scale() scale {
	low, high := 0.0, 0.0
	for _, p := range c.Points {
		for _, value := range []*float64{p.Now, p.Comparison} {
			if value != nil {
				low, high = math.Min(low, *value), math.Max(high, *value)
			}
		}
	}
	if low == high {
		high = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(high-low))-1)
	for _, factor := range []float64{2, 2.5, 2, 2, 2.5} { // 2, 5, 10, 20, 50
		if (high-low)/step > maxSteps {
			step *= factor
		}
	}
	if c.Whole {
		step = math.Max(step, 1)
	}
	return scale{math.Floor(low/step) * step, math.Ceil(high/step) * step, step}
}

func (c Chart) draw(shapes func(*strings.Builder, scale)) template.HTML {
	if len(c.Points) == 0 {
		return ""
	}
	var b strings.Builder
	y := c.scale()
	text := template.HTMLEscapeString
	fmt.Fprintf(&b, `<div class="chart"><svg width="%v" height="%v" aria-hidden="true">`, left, height)
	for value := y.low; value <= y.high+y.step/2; value += y.step {
		fmt.Fprintf(&b, `<text x="%v" y="%v" text-anchor="end">%s</text>`, left-8, math.Round(y.at(value))+4, text(c.Format(value)))
	}
	fmt.Fprintf(&b, `</svg><svg class="plot" role="img" aria-labelledby="%[1]s-title %[1]s-text" height="%[2]v">`+
		`<title id="%[1]s-title">%[3]s</title><desc id="%[1]s-text">%[4]s</desc>`,
		text(c.ID), height, text(c.Title), text(c.Description))
	for value := y.low; value <= y.high+y.step/2; value += y.step {
		fmt.Fprintf(&b, `<line class="grid" x1="0" y1="%[1]v" x2="100%%" y2="%[1]v"/>`, math.Round(y.at(value)))
	}
	shapes(&b, y)
	c.axis(&b)
	fmt.Fprintf(&b, `</svg><svg class="areas" height="%v" aria-hidden="true">`, height)
	c.areas(&b)
	b.WriteString(`</svg></div>`)
	return template.HTML(b.String())
}

// axis writes the labels of the horizontal axis.
func (c Chart) axis(b *strings.Builder) {
	n := len(c.Points)
	step := 100 / float64(n)
	every, narrow := (n+labels-1)/labels, (n+narrowLabels-1)/narrowLabels
	narrow = (narrow + every - 1) / every * every
	for i, p := range c.Points {
		if i%every == 0 {
			class := ""
			if i%narrow != 0 {
				class = ` class="wide"`
			}
			fmt.Fprintf(b, `<text%s x="%.3f%%" y="%v" text-anchor="middle">%s</text>`,
				class, (float64(i)+.5)*step, height-8, template.HTMLEscapeString(p.Label))
		}
	}
}

// areas writes above each point an area with its figures.
func (c Chart) areas(b *strings.Builder) {
	step := 100 / float64(len(c.Points))
	for i, p := range c.Points {
		area := fmt.Sprintf(`<rect class="tip" x="%.3f%%" y="0" width="%.3f%%" height="%v"><title>%s</title></rect>`,
			float64(i)*step, step, bottom, template.HTMLEscapeString(p.Tip))
		if p.Link != "" {
			area = `<a href="` + template.HTMLEscapeString(p.Link) + `" tabindex="-1">` + area + `</a>`
		}
		b.WriteString(area)
	}
}
