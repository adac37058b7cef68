package avif

import (
	"bytes"
	"errors"
	"image"
	"image/draw"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// Each damaged file is refused, or decoded to a picture of the size in its header.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../testdata/*.avif")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	decoded := 0
	for _, name := range names {
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !isPicture(t, name, whole) && filepath.Base(name) != "large.avif" {
			t.Errorf("%s is not decoded", name)
		}
		random := rand.New(rand.NewPCG(14, 2))
		for range 60 {
			file := bytes.Clone(whole)
			for range 1 + random.IntN(4) {
				file[random.IntN(len(file))] = byte(random.Uint32())
			}
			file = file[:len(file)-random.IntN(2)*random.IntN(len(file))]
			if isPicture(t, name, file) {
				decoded++
			}
		}
	}
	if decoded == 0 {
		t.Error("no file was decoded")
	}
	t.Log(decoded)
}

// isPicture decodes a file and reports whether it is valid.
func isPicture(t *testing.T, name string, file []byte) bool {
	t.Helper()
	p, err := Open(file)
	if err != nil {
		if !errors.Is(err, errInvalid) && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		return false
	}
	defer p.Close()
	config := p.Config()
	pixels := config.Width * config.Height
	if pixels > 1_000_000 {
		return false // the caller refuses it
	}
	if need := p.Memory(); need < int64(pixels) {
		t.Errorf("%s needs %d bytes for %d pixels", name, need, pixels)
	}
	if o := p.Orientation(); o < 1 || o > 8 {
		t.Errorf("%s has orientation %d", name, o)
	}
	if err := p.Decode(); err != nil {
		if !errors.Is(err, errInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		return false
	}
	drawn := image.NewRGBA(p.Bounds())
	draw.Draw(drawn, p.Bounds(), p, image.Point{}, draw.Src)
	for at := drawn.Pix; len(at) > 0; at = at[4:] {
		if max(at[0], at[1], at[2]) > at[3] { // the standard library then computes another color
			t.Errorf("%s has a color above its alpha: %v", name, at[:4])
			break
		}
	}
	return true
}

// The items of these small files refer to themselves, to each other or beyond the end of the file.
func TestContainersAreBounded(t *testing.T) {
	t.Parallel()
	box := func(kind string, content ...byte) []byte {
		return append([]byte{0, 0, byte((len(content) + 8) >> 8), byte(len(content) + 8), kind[0], kind[1], kind[2], kind[3]},
			content...)
	}
	brand := box("ftyp", []byte("avif\x00\x00\x00\x00")...)
	for name, content := range map[string][]byte{
		"items":      box("iloc", 2, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff),
		"extents":    box("iloc", 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0xff, 0xff),
		"references": box("iref", append([]byte{1, 0, 0, 0}, box("dimg", 0, 0, 0, 1, 0xff, 0xff)...)...),
		"sizes":      box("iloc", 0, 0, 0, 0, 0xff, 0xff, 0, 1),
	} {
		file := append(bytes.Clone(brand), box("meta", append(make([]byte, 4), content...)...)...)
		if _, err := Open(file); !errors.Is(err, errInvalid) {
			t.Errorf("%s = %v, want errInvalid", name, err)
		}
	}
}
