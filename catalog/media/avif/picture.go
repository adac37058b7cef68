package avif

import (
	"image"
	"image/color"
	"slices"
)

// plane holds samples of one or two bytes.
type plane struct {
	pix          []byte
	w, h, stride int
	wide         bool
}

func (p plane) bytes() int {
	if p.wide {
		return 2
	}
	return 1
}

func (p plane) at(x, y int) float32 {
	if p.wide {
		at := y*p.stride + 2*x
		return float32(uint16(p.pix[at]) | uint16(p.pix[at+1])<<8)
	}
	return float32(p.pix[y*p.stride+x])
}

// put copies the part of a tile that fits.
func (p plane) put(tile plane, x, y int) {
	if x >= p.w || y >= p.h {
		return
	}
	n := min(tile.w, p.w-x) * p.bytes()
	for row := range min(tile.h, p.h-y) {
		copy(p.pix[(y+row)*p.stride+x*p.bytes():][:n], tile.pix[row*tile.stride:])
	}
}

// scale converts samples to values from 0 to 1, or from -0.5 to 0.5.
type scale struct{ offset, factor float32 }

func (s scale) value(sample float32) float32 { return (sample - s.offset) * s.factor }

func lumaScale(depth int, full bool) scale {
	if full {
		return scale{0, 1 / float32(int(1)<<depth-1)}
	}
	return scale{float32(int(16) << (depth - 8)), 1 / float32(int(219)<<(depth-8))}
}

func chromaScale(depth int, full bool) scale {
	half := float32(int(1) << (depth - 1))
	if full {
		return scale{half, 1 / float32(int(1)<<depth-1)}
	}
	return scale{half, 1 / float32(int(224)<<(depth-8))}
}

// weights are those of red and blue in luma, by matrix coefficients of ITU-T H.273.
var weights = map[int][2]float32{
	1: {0.2126, 0.0722}, 4: {0.30, 0.11}, 5: {0.299, 0.114}, 6: {0.299, 0.114}, 7: {0.212, 0.087},
	9: {0.2627, 0.0593}, 10: {0.2627, 0.0593},
}

const (
	identity = 0 // the planes are green, blue and red
	yCgCo    = 8
)

// Picture is a decoded picture. It implements image.RGBA64Image.
type Picture struct {
	frame
	luma, chroma  scale
	red, blue     float32 // weights
	alpha         *frame  // may be nil
	opacity       scale
	premultiplied bool
}

// ColorModel implements image.Image.
func (p *Picture) ColorModel() color.Model { return color.RGBA64Model }

// Bounds implements image.Image.
func (p *Picture) Bounds() image.Rectangle { return image.Rect(0, 0, p.w, p.h) }

// At implements image.Image.
func (p *Picture) At(x, y int) color.Color { return p.RGBA64At(x, y) }

// RGBA64At implements image.RGBA64Image.
func (p *Picture) RGBA64At(x, y int) color.RGBA64 {
	if !(image.Point{X: x, Y: y}).In(p.Bounds()) {
		return color.RGBA64{}
	}
	luma := p.planes[0].at(x, y)
	var r, g, b float32
	switch {
	case p.layout == gray:
		r = p.luma.value(luma)
		g, b = r, r
	case p.matrix == identity:
		g, b, r = p.luma.value(luma), p.luma.value(p.planes[1].at(x, y)), p.luma.value(p.planes[2].at(x, y))
	default:
		l := p.luma.value(luma)
		cx, cy := x>>p.shiftX(), y>>p.shiftY()
		first, second := p.chroma.value(p.planes[1].at(cx, cy)), p.chroma.value(p.planes[2].at(cx, cy))
		if p.matrix == yCgCo {
			r, g, b = l-first+second, l+first, l-first-second
			break
		}
		r = l + 2*(1-p.red)*second
		b = l + 2*(1-p.blue)*first
		g = (l - p.red*r - p.blue*b) / (1 - p.red - p.blue)
	}
	opacity := float32(1)
	if p.alpha != nil {
		opacity = clamp(p.opacity.value(p.alpha.planes[0].at(x, y)), 1)
	}
	factor, most := opacity, float32(1)
	if p.premultiplied {
		factor, most = 1, opacity
	}
	level := func(v float32) uint16 { return uint16(clamp(v, most)*factor*0xffff + 0.5) }
	return color.RGBA64{R: level(r), G: level(g), B: level(b), A: uint16(opacity*0xffff + 0.5)}
}

func clamp(v, most float32) float32 { return max(0, min(most, v)) }

// DecodeConfig returns the size of a picture, before it is turned.
func DecodeConfig(file []byte) (image.Config, error) {
	c, err := readContainer(file)
	if err != nil {
		return image.Config{}, err
	}
	w, h, err := c.item(c.primary).size()
	return image.Config{ColorModel: color.RGBA64Model, Width: w, Height: h}, err
}

// Orientation returns how a picture is shown, as an EXIF orientation from 1 to 8. Like browsers, it ignores EXIF data.
func Orientation(file []byte) int {
	c, err := readContainer(file)
	if err != nil {
		return 1
	}
	return c.item(c.primary).orientation()
}

// Memory returns the bytes that Decode uses at most, besides those of the program.
func Memory(file []byte) int64 {
	c, err := readContainer(file)
	if err != nil {
		return 0
	}
	i := c.item(c.primary)
	g, err := c.grid(i)
	if err != nil {
		return 0
	}
	settings, _ := g.tiles[0].property("av1C")
	flags := settings.number(4) >> 8 & 0xff
	const wide, monochrome, shiftX, shiftY = 0x40, 0x10, 0x08, 0x04
	pixels := int64(g.w) * int64(g.h)
	chroma := 2 * pixels
	if flags&shiftX != 0 {
		chroma /= 2
	}
	if flags&shiftY != 0 {
		chroma /= 2
	}
	if flags&monochrome != 0 {
		chroma = 0
	}
	depth := int64(1)
	if flags&wide != 0 {
		depth = 2
	}
	need := 2*depth*(pixels+chroma) + pixels/2 // with and without film grain, and the modes of blocks
	if c.alpha(c.primary) != nil {
		need += depth*pixels + pixels/2
	}
	if i.kind == "grid" {
		need += depth * (pixels + chroma)
	}
	return need
}

// Decode decodes the first picture of a file. It returns an error if the file is not valid.
func Decode(file []byte) (image.Image, error) {
	c, err := readContainer(file)
	if err != nil {
		return nil, err
	}
	primary := c.item(c.primary)
	p := &Picture{}
	if p.frame, err = c.decode(primary); err != nil {
		return nil, err
	}
	for _, property := range primary.properties {
		f := fields{rest: property.content}
		if property.kind == "colr" && string(f.bytes(4)) == "nclx" {
			f.number(4) // primaries and transfer
			p.matrix = int(f.number(2))
			p.full = f.number(1)&0x80 != 0
		}
	}
	if p.matrix == identity && p.layout != yuv444 && p.layout != gray {
		return nil, errInvalid
	}
	p.luma, p.chroma = lumaScale(p.depth, p.full), chromaScale(p.depth, p.full)
	of, known := weights[p.matrix]
	if !known {
		of = weights[6]
	}
	p.red, p.blue = of[0], of[1]
	if i := c.alpha(c.primary); i != nil {
		alpha, err := c.decode(i)
		if err != nil || alpha.w != p.w || alpha.h != p.h {
			return nil, errInvalid
		}
		p.alpha, p.opacity = &alpha, lumaScale(alpha.depth, alpha.full)
		for id, of := range c.items {
			if of == i {
				p.premultiplied = slices.Contains(primary.references["prem"], id)
			}
		}
	}
	return p, nil
}

// decode decodes an item with its tiles.
func (c *container) decode(i *item) (f frame, err error) {
	g, err := c.grid(i)
	if err != nil {
		return f, err
	}
	for n, tile := range g.tiles {
		content, err := c.content(tile)
		if err != nil {
			return f, err
		}
		part, err := decode(content, g.tileW, g.tileH)
		if err != nil || i.kind == "av01" {
			return part, err
		}
		if n == 0 {
			f = part
			f.w, f.h = g.w, g.h
			for p := range f.planes {
				w, h := f.planeSize(p)
				stride := w * f.planes[p].bytes()
				f.planes[p] = plane{pix: make([]byte, h*stride), w: w, h: h, stride: stride, wide: f.planes[p].wide}
			}
		}
		shiftsFit := g.tileW%(1<<part.shiftX()) == 0 && g.tileH%(1<<part.shiftY()) == 0
		if part.layout != f.layout || part.depth != f.depth || len(g.tiles) > 1 && !shiftsFit {
			return f, errInvalid
		}
		x, y := n%g.columns*g.tileW, n/g.columns*g.tileH
		for p := range f.planes {
			if p == 0 {
				f.planes[p].put(part.planes[p], x, y)
			} else {
				f.planes[p].put(part.planes[p], x>>f.shiftX(), y>>f.shiftY())
			}
		}
		part.close()
	}
	return f, nil
}
