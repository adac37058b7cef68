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

// Damaged files are errors or other pictures of the size in the header. They neither panic nor read outside of planes.
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
		random := rand.New(rand.NewPCG(14, 2))
		for range 60 {
			file := bytes.Clone(whole)
			for range 1 + random.IntN(4) {
				file[random.IntN(len(file))] = byte(random.Uint32())
			}
			file = file[:len(file)-random.IntN(2)*random.IntN(len(file))]
			Orientation(file)
			if need := Memory(file); need < 0 {
				t.Errorf("%s needs %d bytes", name, need)
			}
			config, err := DecodeConfig(file)
			if err == nil && config.Width*config.Height > 1_000_000 {
				continue // the caller refuses it
			}
			p, err := Decode(file)
			if err != nil && !errors.Is(err, errInvalid) {
				t.Errorf("%s: %v", name, err)
			}
			if err != nil {
				continue
			}
			decoded++
			if size := p.Bounds().Size(); size != image.Pt(config.Width, config.Height) {
				t.Errorf("%s is %v, want %d x %d", name, size, config.Width, config.Height)
			}
			draw.Draw(image.NewRGBA(p.Bounds()), p.Bounds(), p, image.Point{}, draw.Src)
		}
	}
	if decoded == 0 {
		t.Error("no file was decoded")
	}
	t.Log(decoded)
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
		if _, err := readContainer(file); err == nil {
			t.Errorf("%s = no error", name)
		}
	}
}
