package media

import (
	"image"
	"image/draw"
)

// fit returns the size of a picture that is made smaller, if necessary, to fit into a box.
func fit(w, h, boxW, boxH int) (int, int) {
	if w <= boxW && h <= boxH {
		return w, h
	}
	if w*boxH >= h*boxW {
		return boxW, max(1, (h*boxW+w/2)/w)
	}
	return max(1, (w*boxH+h/2)/h), boxH
}

// span is the part of source pixels that a target pixel covers. The weights of its first and last pixel are parts of
// one, in units of 1/unit.
type span struct {
	from, to    int // the last one is included
	first, last uint64
}

const unit = 1 << 8

// spans divides n source pixels among m target pixels, with m <= n.
func spans(n, m int) []span {
	all := make([]span, m)
	for i := range all {
		begin, end := uint64(i)*uint64(n)*unit/uint64(m), uint64(i+1)*uint64(n)*unit/uint64(m)
		s := span{from: int(begin / unit), to: int((end - 1) / unit)}
		s.first = unit - begin%unit
		s.last = (end-1)%unit + 1
		if s.from == s.to {
			s.first, s.last = end-begin, 0
		}
		all[i] = s
	}
	return all
}

// stripRows is the number of rows that are converted at a time, so that the whole original is never converted.
const stripRows = 16

// shrink returns a picture in a size that is not larger. Each pixel is the average of the area that it covers.
func shrink(original image.Image, w, h int) *image.RGBA {
	b := original.Bounds()
	target := image.NewRGBA(image.Rect(0, 0, w, h))
	if b.Dx() == w && b.Dy() == h {
		draw.Draw(target, target.Rect, original, b.Min, draw.Src)
		return target
	}
	strip := image.NewRGBA(image.Rect(0, 0, b.Dx(), stripRows))
	stripFrom := -stripRows
	columns := spans(b.Dx(), w)
	sums := make([]uint64, 4*w)
	for y, rows := range spans(b.Dy(), h) {
		clear(sums)
		var height uint64
		for row := rows.from; row <= rows.to; row++ {
			if row >= stripFrom+stripRows {
				stripFrom = row
				draw.Draw(strip, strip.Rect, original, image.Pt(b.Min.X, b.Min.Y+row), draw.Src)
			}
			weight := rows.weight(row)
			height += weight
			addRow(sums, strip.Pix[(row-stripFrom)*strip.Stride:], columns, weight)
		}
		line := target.Pix[y*target.Stride:]
		for x, c := range columns {
			area := height * c.width()
			for i := range 4 {
				line[4*x+i] = uint8((sums[4*x+i] + area/2) / area)
			}
		}
	}
	return target
}

// addRow adds the pixels of a row to the sums of the target pixels.
func addRow(sums []uint64, row []uint8, columns []span, weight uint64) {
	for x, c := range columns {
		var r, g, b, a uint64
		for i := c.from; i <= c.to; i++ {
			n, p := c.weight(i), row[4*i:4*i+4:4*i+4]
			r += n * uint64(p[0])
			g += n * uint64(p[1])
			b += n * uint64(p[2])
			a += n * uint64(p[3])
		}
		s := sums[4*x : 4*x+4 : 4*x+4]
		s[0] += weight * r
		s[1] += weight * g
		s[2] += weight * b
		s[3] += weight * a
	}
}

func (s span) weight(i int) uint64 {
	switch i {
	case s.from:
		return s.first
	case s.to:
		return s.last
	}
	return unit
}

// width is the sum of all weights.
func (s span) width() uint64 { return s.first + s.last + uint64(max(0, s.to-s.from-1))*unit }

// orient returns the picture turned according to the EXIF orientation, 1 to 8.
func orient(p *image.RGBA, orientation int) *image.RGBA {
	w, h := p.Rect.Dx(), p.Rect.Dy()
	if orientation <= 1 || orientation > 8 {
		return p
	}
	turned := image.NewRGBA(image.Rect(0, 0, w, h))
	if orientation >= 5 {
		turned = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			tx, ty := x, y
			switch orientation {
			case 2:
				tx = w - 1 - x
			case 3:
				tx, ty = w-1-x, h-1-y
			case 4:
				ty = h - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8:
				tx, ty = y, w-1-x
			}
			copy(turned.Pix[ty*turned.Stride+4*tx:][:4], p.Pix[y*p.Stride+4*x:][:4])
		}
	}
	return turned
}
