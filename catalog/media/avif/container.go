// Package avif decodes the first picture of AVIF files. The package reads the container; dav1d, compiled to WebAssembly
// (dav1d/build.sh), decodes the AV1 data. It can access neither the memory of the process nor the system, and is
// compiled to machine code for the first picture.
package avif

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
)

// errInvalid reports a file that is not valid, or that uses a rare, unsupported feature.
var errInvalid = errors.New("avif: invalid file")

const (
	maxItems = 1000 // items and references of a file
	maxTiles = 256  // of a grid
	maxSide  = 1 << 16
	// smallTile is the number of pixels that a tile may have even if the picture is smaller.
	smallTile = 64 * 64
)

// box is a part of an ISO base media file.
type box struct {
	kind    string
	content []byte
}

// boxes returns the boxes of a content, until one that is not complete.
func boxes(content []byte) (all []box) {
	for len(content) >= 8 {
		size, header := uint64(binary.BigEndian.Uint32(content)), uint64(8)
		switch {
		case size == 1 && len(content) >= 16:
			size, header = binary.BigEndian.Uint64(content[8:]), 16
		case size == 0:
			size = uint64(len(content))
		}
		if size < header || size > uint64(len(content)) {
			return all
		}
		all = append(all, box{string(content[4:8]), content[header:size]})
		content = content[size:]
	}
	return all
}

// fields reads the fields of a box. After its end, all fields are zero and failed is set.
type fields struct {
	rest   []byte
	failed bool
}

func (f *fields) bytes(n uint64) []byte {
	if n > uint64(len(f.rest)) {
		f.rest, f.failed = nil, true
		return nil
	}
	read := f.rest[:n]
	f.rest = f.rest[n:]
	return read
}

// number reads n bytes, at most 8.
func (f *fields) number(n int) (value uint64) {
	for _, b := range f.bytes(uint64(n)) {
		value = value<<8 | uint64(b)
	}
	return value
}

// version reads the start of a full box.
func (f *fields) version() (version byte, flags uint32) {
	n := f.number(4)
	return byte(n >> 24), uint32(n & 0xffffff)
}

// text reads a text that ends with a zero.
func (f *fields) text() string {
	text, _, found := strings.Cut(string(f.rest), "\x00")
	if found {
		f.bytes(uint64(len(text) + 1))
	} else {
		f.bytes(uint64(len(f.rest)))
	}
	return text
}

// item is a picture, a grid of pictures or the transparency of a picture.
type item struct {
	kind       string
	method     uint64 // 0: extents of the file, 1: of the box idat
	extents    [][2]uint64
	properties []box
	references map[string][]uint32 // ids by kind
}

// container is the content of the box meta of a file.
type container struct {
	file, data []byte
	primary    uint32
	items      map[uint32]*item
}

func (c *container) item(id uint32) *item {
	if c.items[id] == nil {
		c.items[id] = &item{references: map[string][]uint32{}}
	}
	return c.items[id]
}

// IsAVIF reports whether the brands of a file say that it is an AVIF file.
func IsAVIF(file []byte) bool {
	if len(file) < 16 || string(file[4:8]) != "ftyp" {
		return false
	}
	brands := file[8:min(len(file), int(min(binary.BigEndian.Uint32(file), 4096)))]
	for ; len(brands) >= 4; brands = brands[4:] {
		if brand := string(brands[:4]); brand == "avif" || brand == "avis" {
			return true
		}
	}
	return false
}

func readContainer(file []byte) (*container, error) {
	c := &container{file: file, items: map[uint32]*item{}}
	at := slices.IndexFunc(boxes(file), func(b box) bool { return b.kind == "meta" })
	if !IsAVIF(file) || at < 0 {
		return nil, errInvalid
	}
	meta := fields{rest: boxes(file)[at].content}
	meta.version()
	for _, b := range boxes(meta.rest) {
		f := fields{rest: b.content}
		switch b.kind {
		case "pitm":
			version, _ := f.version()
			c.primary = c.id(&f, version)
		case "iinf":
			c.readKinds(&f)
		case "iloc":
			c.readLocations(&f)
		case "iref":
			c.readReferences(&f)
		case "iprp":
			c.readProperties(b.content)
		case "idat":
			c.data = b.content
		}
		if f.failed || len(c.items) > maxItems {
			return nil, errInvalid
		}
	}
	return c, nil
}

// id reads the id of an item, which has four bytes if the version of the box is not 0.
func (c *container) id(f *fields, version byte) uint32 {
	if version == 0 {
		return uint32(f.number(2))
	}
	return uint32(f.number(4))
}

func (c *container) readKinds(f *fields) {
	version, _ := f.version()
	c.id(f, version) // the number of entries
	for _, entry := range boxes(f.rest) {
		f := fields{rest: entry.content}
		version, _ := f.version()
		if entry.kind != "infe" || version < 2 {
			continue
		}
		id := c.id(&f, version-2)
		f.number(2)
		if kind := f.bytes(4); kind != nil && len(c.items) <= maxItems {
			c.item(id).kind = string(kind)
		}
	}
}

func (c *container) readLocations(f *fields) {
	version, _ := f.version()
	sizes := f.number(2)
	offsetSize, lengthSize := int(sizes>>12), int(sizes>>8&15)
	baseSize, indexSize := int(sizes>>4&15), int(sizes&15)
	if version == 0 {
		indexSize = 0
	}
	if max(offsetSize, lengthSize, baseSize, indexSize) > 8 {
		f.failed = true
		return
	}
	for range c.id(f, version>>1) {
		i := c.item(c.id(f, version>>1))
		if version > 0 {
			i.method = f.number(2) & 15
		}
		f.number(2)
		base := f.number(baseSize)
		for range f.number(2) {
			f.number(indexSize)
			offset := f.number(offsetSize)
			i.extents = append(i.extents, [2]uint64{base + offset, f.number(lengthSize)})
			if f.failed || len(i.extents) > maxItems {
				f.failed = true
				return
			}
		}
		if f.failed || len(c.items) > maxItems {
			f.failed = true
			return
		}
	}
}

func (c *container) readReferences(f *fields) {
	version, _ := f.version()
	read := 0
	for _, b := range boxes(f.rest) {
		list := fields{rest: b.content}
		from := c.item(c.id(&list, version))
		for range list.number(2) {
			from.references[b.kind] = append(from.references[b.kind], c.id(&list, version))
			if read++; list.failed || read > maxItems {
				f.failed = true
				return
			}
		}
	}
}

func (c *container) readProperties(content []byte) {
	var properties []box
	read := 0
	for _, b := range boxes(content) {
		if b.kind == "ipco" {
			properties = boxes(b.content)
		}
		if b.kind != "ipma" {
			continue
		}
		f := fields{rest: b.content}
		version, flags := f.version()
		for range f.number(4) {
			i := c.item(c.id(&f, version))
			for range f.number(1) {
				index := f.number(1) & 0x7f
				if flags&1 != 0 {
					index = index<<8 | f.number(1)
				}
				if read++; f.failed || read > 10*maxItems || len(c.items) > maxItems {
					return
				}
				if index >= 1 && index <= uint64(len(properties)) {
					i.properties = append(i.properties, properties[index-1])
				}
			}
			if f.failed {
				return
			}
		}
	}
}

// property returns the fields of a property of an item.
func (i *item) property(kind string) (f fields, exists bool) {
	for _, p := range i.properties {
		if p.kind == kind {
			return fields{rest: p.content}, true
		}
	}
	return fields{failed: true}, false
}

// size returns the width and height of an item, at least 1.
func (i *item) size() (w, h int, err error) {
	f, _ := i.property("ispe")
	f.version()
	w, h = int(f.number(4)), int(f.number(4))
	if f.failed || w < 1 || h < 1 || w > maxSide || h > maxSide {
		return 0, 0, errInvalid
	}
	return w, h, nil
}

// content returns the bytes of an item.
func (c *container) content(i *item) (content []byte, err error) {
	source := c.file
	if i.method == 1 {
		source = c.data
	} else if i.method != 0 {
		return nil, errInvalid
	}
	for n, extent := range i.extents {
		offset, length := extent[0], extent[1]
		if offset > uint64(len(source)) {
			return nil, errInvalid
		}
		if length == 0 {
			length = uint64(len(source)) - offset
		}
		if length > uint64(len(source))-offset || uint64(len(content))+length > uint64(len(c.file)) {
			return nil, errInvalid
		}
		part := source[offset : offset+length]
		if n == 0 {
			content = part[:length:length]
		} else {
			content = append(content, part...)
		}
	}
	return content, nil
}

// alpha returns the item with the transparency of another, or nil.
func (c *container) alpha(of uint32) *item {
	for _, i := range c.items {
		f, exists := i.property("auxC")
		f.version()
		if kind := f.text(); exists && slices.Contains(i.references["auxl"], of) &&
			(kind == "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha" || kind == "urn:mpeg:hevc:2015:auxid:1") {
			return i
		}
	}
	return nil
}

// grid is the layout of an item that consists of others.
type grid struct {
	rows, columns int
	w, h          int
	tiles         []*item
	tileW, tileH  int
}

// grid returns the layout of an item. An item that is not a grid is its own only tile.
func (c *container) grid(i *item) (g grid, err error) {
	if g.w, g.h, err = i.size(); err != nil {
		return g, err
	}
	switch i.kind {
	case "av01":
		return grid{rows: 1, columns: 1, w: g.w, h: g.h, tiles: []*item{i}, tileW: g.w, tileH: g.h}, nil
	case "grid":
	default:
		return g, errInvalid
	}
	content, err := c.content(i)
	if err != nil {
		return g, err
	}
	f := fields{rest: content}
	version, wide := f.number(1), f.number(1)&1
	g.rows, g.columns = int(f.number(1))+1, int(f.number(1))+1
	w, h := f.number(2+2*int(wide)), f.number(2+2*int(wide))
	ids := i.references["dimg"]
	if f.failed || version != 0 || w != uint64(g.w) || h != uint64(g.h) || len(ids) != g.rows*g.columns ||
		len(ids) > maxTiles {
		return g, errInvalid
	}
	for n, id := range ids {
		tile := c.items[id]
		if tile == nil || tile.kind != "av01" {
			return g, errInvalid
		}
		w, h, err := tile.size()
		if err != nil || n > 0 && (w != g.tileW || h != g.tileH) {
			return g, errInvalid
		}
		g.tileW, g.tileH, g.tiles = w, h, append(g.tiles, tile)
	}
	// Each tile shows something, and a tile is not much larger than the picture.
	if g.w <= g.tileW*(g.columns-1) || g.w > g.tileW*g.columns ||
		g.h <= g.tileH*(g.rows-1) || g.h > g.tileH*g.rows || g.tileW*g.tileH > g.w*g.h+smallTile {
		return g, errInvalid
	}
	return g, nil
}

// orientation returns the EXIF orientation, 1 to 8, for the rotation and the mirroring of an item.
func (i *item) orientation() int {
	turns := 0
	if f, exists := i.property("irot"); exists {
		turns = int(f.number(1) & 3) // counterclockwise
	}
	f, mirrored := i.property("imir")
	switch {
	case !mirrored:
		return [4]int{1, 8, 3, 6}[turns]
	case f.number(1)&1 == 0: // top and bottom are exchanged
		return [4]int{4, 5, 2, 7}[turns]
	}
	return [4]int{2, 7, 4, 5}[turns]
}
