package media

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/storeroom/storeroom/tenancy"
)

// TestMain runs the child process that the tests start.
func TestMain(m *testing.M) {
	if IsChild() {
		if os.Getenv("STOREROOM_TEST_UNCHECKED") != "" {
			os.Exit(decodeUnchecked())
		}
		if os.Getenv("STOREROOM_TEST_NO_CODE") != "" {
			const denyWriteExecute = 65 // PR_SET_MDWE
			if _, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, denyWriteExecute, 1, 0, 0, 0, 0); err != 0 {
				os.Exit(3)
			}
		}
		os.Exit(RunChild())
	}
	os.Exit(m.Run())
}

// gradient is red from left to right and green from top to bottom.
func gradient(w, h int, alpha uint8) *image.NRGBA {
	p := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			p.SetNRGBA(x, y, color.NRGBA{uint8(255 * x / w), uint8(255 * y / h), 100, alpha})
		}
	}
	return p
}

func asJPEG(t testing.TB, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, p, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asPNG(t testing.TB, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func mustFile(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// run processes an upload in a child. The pictures are by width, the full one at 0.
func run(t testing.TB, memory int64, upload []byte) (Processed, map[int][]byte, error) {
	t.Helper()
	var output bytes.Buffer
	p, err := Process(t.Context(), 1, memory, bytes.NewReader(upload), &output, func() (io.Reader, error) { return &output, nil })
	for errors.Is(err, ErrSlow) { // other tests use the CPUs
		output.Reset()
		p, err = Process(t.Context(), 1, memory, bytes.NewReader(upload), &output, func() (io.Reader, error) { return &output, nil })
	}
	pictures := map[int][]byte{}
	for _, s := range p.sizes {
		content := make([]byte, s.Bytes)
		if _, err := io.ReadFull(p.content, content); err != nil {
			t.Fatal(err)
		}
		pictures[s.Width] = content
	}
	return p, pictures, err
}

func TestFormats(t *testing.T) {
	t.Parallel()
	var animation bytes.Buffer
	frames := &gif.GIF{Delay: []int{1, 1}}
	for _, c := range []color.Color{color.White, color.Black} {
		frame := image.NewPaletted(image.Rect(0, 0, 64, 48), color.Palette{c})
		frames.Image = append(frames.Image, frame)
	}
	if err := gif.EncodeAll(&animation, frames); err != nil {
		t.Fatal(err)
	}
	deep := image.NewNRGBA64(image.Rect(0, 0, 64, 48))
	for i := range deep.Pix {
		deep.Pix[i] = 0xff
	}
	for name, test := range map[string]struct {
		upload []byte
		kind   string
		corner color.RGBA // at the top left
	}{
		"JPEG":              {asJPEG(t, gradient(64, 48, 255)), "jpg", color.RGBA{0, 0, 100, 255}},
		"progressive JPEG":  {mustFile(t, "progressive.jpg"), "jpg", color.RGBA{0, 0, 100, 255}},
		"gray JPEG":         {asJPEG(t, image.NewGray(image.Rect(0, 0, 64, 48))), "jpg", color.RGBA{0, 0, 0, 255}},
		"PNG":               {asPNG(t, gradient(64, 48, 255)), "jpg", color.RGBA{0, 0, 100, 255}},
		"transparent PNG":   {asPNG(t, gradient(64, 48, 128)), "png", color.RGBA{0, 0, 50, 128}},
		"16-bit PNG":        {asPNG(t, deep), "jpg", color.RGBA{255, 255, 255, 255}},
		"WebP":              {mustFile(t, "lossy.webp"), "jpg", color.RGBA{20, 22, 110, 255}},
		"transparent WebP":  {mustFile(t, "alpha.webp"), "png", color.RGBA{0, 0, 100, 255}},
		"lossy transparent": {mustFile(t, "lossyalpha.webp"), "png", color.RGBA{20, 20, 106, 255}},
		"animated WebP":     {mustFile(t, "animated.webp"), "jpg", color.RGBA{20, 22, 110, 255}},
		"AVIF":              {mustFile(t, "picture.avif"), "jpg", color.RGBA{2, 2, 100, 255}},
		"AVIF of 10 bits":   {mustFile(t, "ten.avif"), "jpg", color.RGBA{5, 4, 98, 255}},
		"AVIF of 12 bits":   {mustFile(t, "twelve.avif"), "jpg", color.RGBA{7, 2, 102, 255}},
		"gray AVIF":         {mustFile(t, "gray.avif"), "jpg", color.RGBA{14, 14, 14, 255}},
		"AVIF of RGB":       {mustFile(t, "lossless.avif"), "jpg", color.RGBA{3, 0, 100, 255}},
		"AVIF with a range": {mustFile(t, "limited.avif"), "jpg", color.RGBA{3, 3, 98, 255}},
		"transparent AVIF":  {mustFile(t, "alpha.avif"), "png", color.RGBA{4, 1, 52, 130}},
		"premultiplied":     {mustFile(t, "premultiplied.avif"), "png", color.RGBA{3, 1, 51, 130}},
		"animated AVIF":     {mustFile(t, "animated.avif"), "jpg", color.RGBA{0, 0, 90, 255}},
		"animated GIF":      {animation.Bytes(), "jpg", color.RGBA{255, 255, 255, 255}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, pictures, err := run(t, MaxMemory, test.upload)
			if err != nil {
				t.Fatal(err)
			}
			shown, format, err := image.Decode(bytes.NewReader(pictures[0]))
			if err != nil || p.Width != 64 || p.Height != 48 || shown.Bounds() != image.Rect(0, 0, 64, 48) {
				t.Fatalf("%d x %d, %v", p.Width, p.Height, err)
			}
			if format[:1] != test.kind[:1] || !strings.HasSuffix(p.File, "."+test.kind) || !namePattern.MatchString(p.File) {
				t.Errorf("%s is a %s, want %s", p.File, format, test.kind)
			}
			if got := color.RGBAModel.Convert(shown.At(1, 0)).(color.RGBA); !near(got, test.corner) {
				t.Errorf("the corner is %v, want %v", got, test.corner)
			}
			if len(pictures) != 1 || p.Bytes != int64(len(pictures[0])) {
				t.Errorf("%d sizes with %d bytes: a picture is never made larger", len(pictures), p.Bytes)
			}
		})
	}
}

// near accepts what a lossy format changes.
func near(a, b color.RGBA) bool {
	for _, pair := range [][2]uint8{{a.R, b.R}, {a.G, b.G}, {a.B, b.B}, {a.A, b.A}} {
		if d := int(pair[0]) - int(pair[1]); d < -16 || d > 16 {
			return false
		}
	}
	return true
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		w, h int
		want map[int]image.Point
	}{
		{100, 100, map[int]image.Point{0: {100, 100}}},
		{161, 10, map[int]image.Point{0: {161, 10}, 160: {160, 10}}},
		{100, 400, map[int]image.Point{0: {100, 400}, 160: {80, 320}}},
		{3000, 1500, map[int]image.Point{0: {2560, 1280}, 160: {160, 80}, 480: {480, 240}, 1200: {1200, 600}}},
		{1, 20000, map[int]image.Point{0: {1, 2560}, 160: {1, 320}, 480: {1, 960}, 1200: {1, 2400}}},
	} {
		_, pictures, err := run(t, MaxMemory, asPNG(t, image.NewGray(image.Rect(0, 0, test.w, test.h))))
		if err != nil {
			t.Fatal(err)
		}
		got := map[int]image.Point{}
		for width, content := range pictures {
			config, _, err := image.DecodeConfig(bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			got[width] = image.Pt(config.Width, config.Height)
		}
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%d x %d: %v, want %v", test.w, test.h, got, test.want)
		}
	}
}

func TestShrinkAveragesTheArea(t *testing.T) {
	t.Parallel()
	p := image.NewGray(image.Rect(10, 20, 15, 22)) // a strip of 5 pixels, twice
	for y := range 2 {
		copy(p.Pix[y*p.Stride:], []uint8{0, 100, 200, 50, 250})
	}
	got := shrink(p, 2, 1)
	for i, want := range []uint8{(0 + 100 + 200/2) * 2 / 5, (200/2 + 50 + 250) * 2 / 5} {
		if got.Pix[4*i] != want || got.Pix[4*i+3] != 255 {
			t.Errorf("pixel %d = %v, want %d", i, got.Pix[4*i:4*i+4], want)
		}
	}
	for n := 1; n < 70; n++ {
		for m := 1; m <= n; m++ {
			var sum uint64
			for _, s := range spans(n, m) {
				var weights uint64
				for i := s.from; i <= s.to; i++ {
					weights += s.weight(i)
				}
				if s.to >= n || weights != s.width() || weights == 0 {
					t.Fatalf("%d to %d: %+v has %d", n, m, s, weights)
				}
				sum += weights
			}
			if sum != uint64(n)*unit {
				t.Fatalf("%d to %d covers %d", n, m, sum)
			}
		}
	}
}

// tiff has an orientation and a position, as the EXIF data of a phone.
func tiff(order binary.AppendByteOrder, orientation uint16) []byte {
	b := []byte("MM")
	if order == binary.AppendByteOrder(binary.LittleEndian) {
		b = []byte("II")
	}
	b = order.AppendUint16(b, 42)
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 2)
	for _, entry := range [][4]uint32{{0x0112, 3, 1, 0}, {0x8825, 4, 1, 26}} {
		b = order.AppendUint16(b, uint16(entry[0]))
		b = order.AppendUint16(b, uint16(entry[1]))
		b = order.AppendUint32(b, entry[2])
		if entry[0] == 0x0112 {
			b = order.AppendUint16(order.AppendUint16(b, orientation), 0)
		} else {
			b = order.AppendUint32(b, entry[3])
		}
	}
	return append(b, "GPS 48.2082 N 16.3738 E"...)
}

func withEXIF(upload, exif []byte) []byte {
	segment := append([]byte("Exif\x00\x00"), exif...)
	head := append([]byte{0xff, 0xd8, 0xff, 0xe1}, byte((len(segment)+2)>>8), byte(len(segment)+2))
	return append(append(head, segment...), upload[2:]...)
}

func withChunk(upload []byte, name string, content []byte) []byte {
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	chunk = append(append(chunk, name...), content...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return append(append(bytes.Clone(upload[:33]), chunk...), upload[33:]...) // after IHDR
}

func TestOrientationIsAppliedAndMetadataIsGone(t *testing.T) {
	t.Parallel()
	p := gradient(64, 32, 255)
	// where the top left corner of the stored picture is shown
	corners := []image.Point{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}, {1, 0}, {1, 1}, {0, 1}}
	for orientation := 1; orientation <= 8; orientation++ {
		for name, upload := range map[string][]byte{
			"JPEG": withEXIF(asJPEG(t, p), tiff(binary.LittleEndian, uint16(orientation))),
			"PNG":  withChunk(asPNG(t, p), "eXIf", tiff(binary.BigEndian, uint16(orientation))),
		} {
			_, pictures, err := run(t, MaxMemory, upload)
			if err != nil {
				t.Fatal(err)
			}
			shown, err := jpeg.Decode(bytes.NewReader(pictures[0]))
			if err != nil {
				t.Fatal(err)
			}
			w, h := shown.Bounds().Dx(), shown.Bounds().Dy()
			if (w > h) != (orientation < 5) {
				t.Errorf("%s with orientation %d is %d x %d", name, orientation, w, h)
			}
			corner := corners[orientation-1]
			at := color.RGBAModel.Convert(shown.At(corner.X*(w-1), corner.Y*(h-1))).(color.RGBA)
			if !near(at, color.RGBA{0, 0, 100, 255}) {
				t.Errorf("%s with orientation %d: the corner %v is %v", name, orientation, corner, at)
			}
			for _, text := range []string{"GPS", "Exif", "48.2082"} {
				if bytes.Contains(pictures[0], []byte(text)) || !bytes.Contains(upload, []byte("GPS")) {
					t.Errorf("%s: the stored picture has %q", name, text)
				}
			}
		}
	}
}

// AVIF files have a rotation and a mirroring instead. The corners are those that Chromium shows.
func TestAVIFIsShownAsInABrowser(t *testing.T) {
	t.Parallel()
	for turns, corners := range [4][3]image.Point{
		{{0, 0}, {0, 1}, {1, 0}}, {{0, 1}, {0, 0}, {1, 1}}, {{1, 1}, {1, 0}, {0, 1}}, {{1, 0}, {1, 1}, {0, 0}},
	} {
		for mirror, corner := range corners {
			upload := mustFile(t, "turned.avif")
			upload[bytes.Index(upload, []byte("irot"))+4] = byte(turns)
			if mirror == 0 {
				copy(upload[bytes.Index(upload, []byte("imir")):], "free")
				upload[bytes.Index(upload, []byte("mdat"))-5] &= 0x7f // the last property is not essential
			} else {
				upload[bytes.Index(upload, []byte("imir"))+4] = byte(mirror - 1)
			}
			_, pictures, err := run(t, MaxMemory, upload)
			if err != nil {
				t.Fatal(err)
			}
			shown, err := jpeg.Decode(bytes.NewReader(pictures[0]))
			if err != nil {
				t.Fatal(err)
			}
			w, h := shown.Bounds().Dx(), shown.Bounds().Dy()
			at := color.RGBAModel.Convert(shown.At(corner.X*(w-1), corner.Y*(h-1))).(color.RGBA)
			if (w > h) != (turns%2 == 0) || !near(at, color.RGBA{0, 0, 100, 255}) {
				t.Errorf("turns %d, mirror %d: %d x %d with %v at %v", turns, mirror, w, h, at, corner)
			}
		}
	}
}

func TestAGridIsOnePicture(t *testing.T) {
	t.Parallel()
	p, pictures, err := run(t, MaxMemory, mustFile(t, "grid.avif"))
	if err != nil || p.Width != 128 || p.Height != 64 {
		t.Fatalf("%d x %d, %v", p.Width, p.Height, err)
	}
	shown, err := jpeg.Decode(bytes.NewReader(pictures[0]))
	if err != nil {
		t.Fatal(err)
	}
	for x := 2; x < 128; x += 10 {
		got := color.RGBAModel.Convert(shown.At(x, 32)).(color.RGBA)
		if want := (color.RGBA{uint8(255 * x / 128), 127, 100, 255}); !near(got, want) {
			t.Errorf("column %d is %v, want %v", x, got, want)
		}
	}
}

// A system that forbids generated code refuses AVIF files and accepts the others. The test needs PR_SET_MDWE, which
// Linux has since 6.3.
func TestAVIFNeedsGeneratedCode(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"picture.avif": "this server cannot decode AVIF", "lossy.webp": `"Type":"jpg"`} {
		child := exec.CommandContext(t.Context(), "/proc/self/exe")
		child.Args, child.Env = []string{childName}, []string{
			fmt.Sprintf("%s=%d", memoryVariable, MaxMemory), "STOREROOM_TEST_NO_CODE=1",
		}
		child.Stdin = bytes.NewReader(mustFile(t, name))
		output, err := child.Output()
		if code, ok := errors.AsType[*exec.ExitError](err); ok && code.ExitCode() == 3 {
			t.Skip("the kernel cannot forbid generated code")
		}
		if err != nil || !bytes.Contains(output, []byte(want)) {
			t.Errorf("%s = %.200q, %v, want %s", name, output, err, want)
		}
	}
}

const script = `<script>alert(document.domain)</script><?php system($_GET["x"]) ?>`

func TestOnlyPicturesAreAccepted(t *testing.T) {
	t.Parallel()
	picture := asJPEG(t, gradient(640, 480, 255))
	for name, upload := range map[string][]byte{
		"nothing":    nil,
		"HTML":       []byte("<!doctype html>" + script),
		"SVG":        []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`),
		"SVG as XML": []byte(`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`),
		"JavaScript": []byte("/*\xff\xd8\xff*/alert(1)"),
		"PDF":        []byte("%PDF-1.7"),
		"ZIP":        []byte("PK\x03\x04"),
		"BMP":        []byte("BM\x00\x00"),
		"TIFF":       []byte("II*\x00"),
		"HEIC":       []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00"),
		"a blank":    append([]byte(" "), picture...),
	} {
		_, _, err := run(t, MaxMemory, upload)
		if _, invalid := errors.AsType[tenancy.InvalidError](err); !errors.Is(err, ErrUnsupported) || !invalid {
			t.Errorf("%s = %v, want ErrUnsupported", name, err)
		}
	}
	avif := mustFile(t, "picture.avif")
	for name, upload := range map[string][]byte{
		"a truncated JPEG":     picture[:len(picture)/2],
		"only the magic bytes": []byte("\xff\xd8\xff"),
		"a truncated PNG":      asPNG(t, gradient(640, 480, 255))[:2000],
		"a truncated GIF":      []byte("GIF89a@\x00@\x00"),
		"a GIF with script":    []byte("GIF89a/*" + script + "*/=1;"),
		"a truncated WebP":     mustFile(t, "lossy.webp")[:60],
		"a WebP header":        []byte("RIFF\x00\x00\x00\x00WEBPVP8 "),
		"an AVIF header":       avif[:32],
		"a truncated AVIF":     avif[:len(avif)-20],
		"an AVIF without data": avif[:bytes.Index(avif, []byte("mdat"))+4],
		"an AVIF of HEVC":      bytes.Replace(avif, []byte("av01"), []byte("hvc1"), 1),
		"another AVIF size":    resized(avif, 64, 40),
		"a large AVIF size":    resized(avif, 8000, 6000),
		"an AVIF of 9 frames":  withFrames(t, avif, 9),
		"a grid of one tile":   bytes.Replace(mustFile(t, "grid.avif"), []byte{0, 0, 0, 1, 0, 128, 0, 64}, []byte{0, 0, 0, 0, 0, 128, 0, 64}, 1),
		"a grid of 64 tiles":   bytes.Replace(mustFile(t, "grid.avif"), []byte{0, 0, 0, 1, 0, 128, 0, 64}, []byte{0, 0, 7, 7, 0, 128, 0, 64}, 1),
		"a WebP of nothing":    []byte("RIFF\xff\xff\xff\xffWEBP\xff\xff\xff\xff\xff\xff\xff\xff"),
	} {
		_, _, err := run(t, MaxMemory, upload)
		invalid, ok := errors.AsType[tenancy.InvalidError](err)
		if !ok || errors.Is(err, ErrUnsupported) || len(invalid["file"]) != 1 {
			t.Errorf("%s = %v, want an InvalidError", name, err)
		}
	}
}

// Only what the child encodes is stored.
func TestPolyglotsBecomePictures(t *testing.T) {
	t.Parallel()
	picture, transparent := asJPEG(t, gradient(64, 48, 255)), asPNG(t, gradient(64, 48, 100))
	for name, upload := range map[string][]byte{
		"JPEG and PHP at the end":   append(bytes.Clone(picture), script...),
		"JPEG and ZIP":              append(bytes.Clone(picture), "PK\x03\x04"+script+"PK\x05\x06"...),
		"JPEG with a comment":       append(append([]byte{0xff, 0xd8, 0xff, 0xfe, 0, byte(len(script) + 2)}, script...), picture[2:]...),
		"JPEG with EXIF":            withEXIF(picture, []byte(script)),
		"PNG with text":             withChunk(transparent, "tEXt", []byte("Comment\x00"+script)),
		"PNG with a color profile":  withChunk(asPNG(t, gradient(64, 48, 255)), "iCCP", []byte(script)),
		"PNG and HTML at the end":   append(bytes.Clone(transparent), script...),
		"WebP with a chunk at last": append(mustFile(t, "lossy.webp"), script...),
		"AVIF and HTML at the end":  append(mustFile(t, "alpha.avif"), script...),
	} {
		_, pictures, err := run(t, MaxMemory, upload)
		if err != nil {
			t.Errorf("%s = %v", name, err)
		}
		for width, content := range pictures {
			if bytes.Contains(content, []byte("alert")) || bytes.Contains(content, []byte("PK\x03\x04")) {
				t.Errorf("%s: the picture of width %d has the script", name, width)
			}
			if _, _, err := image.Decode(bytes.NewReader(content)); err != nil {
				t.Errorf("%s: width %d: %v", name, width, err)
			}
		}
	}
}

// resized returns an AVIF file with another size in its header.
func resized(upload []byte, w, h uint32) []byte {
	upload = bytes.Clone(upload)
	size := upload[bytes.Index(upload, []byte("ispe"))+8:]
	binary.BigEndian.PutUint32(size, w)
	binary.BigEndian.PutUint32(size[4:], h)
	return upload
}

// withFrames returns the AVIF file with its only frame repeated n times.
func withFrames(t testing.TB, upload []byte, n int) []byte {
	t.Helper()
	at := bytes.Index(upload, []byte("mdat")) + 4
	frame := bytes.IndexByte(upload[at:], 0x32) // an OBU with a frame
	location := bytes.Index(upload, []byte("iloc"))
	if frame < 0 || binary.BigEndian.Uint32(upload[location+22:]) != uint32(len(upload)-at) {
		t.Fatal("the file has another layout")
	}
	repeated := append(bytes.Clone(upload), bytes.Repeat(upload[at+frame:], n-1)...)
	binary.BigEndian.PutUint32(repeated[location+22:], uint32(len(repeated)-at))
	binary.BigEndian.PutUint32(repeated[at-8:], uint32(len(repeated)-at+8))
	return repeated
}

// emptyPNG has so many black pixels that its data need no space.
func emptyPNG(t testing.TB, w, h uint32, depth, kind, interlace byte, bits int) []byte {
	t.Helper()
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	upload := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(name string, content []byte) {
		c := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
		c = append(append(c, name...), content...)
		upload = append(upload, binary.BigEndian.AppendUint32(c, crc32.ChecksumIEEE(c[4:]))...)
	}
	chunk("IHDR", append(header, depth, kind, 0, 0, interlace))
	if kind == 3 {
		chunk("PLTE", []byte{0, 0, 0})
	}
	if bits > 0 {
		var data bytes.Buffer
		z := zlib.NewWriter(&data)
		row := make([]byte, 1+(int(w)*bits+7)/8)
		for range h {
			if _, err := z.Write(row); err != nil {
				t.Fatal(err)
			}
		}
		z.Close()
		chunk("IDAT", data.Bytes())
	}
	chunk("IEND", nil)
	return upload
}

func TestLargePicturesAreRefusedBeforeTheyAreDecoded(t *testing.T) {
	t.Parallel()
	// A progressive JPEG of 48 megapixels with three full components needs 720 MB.
	large := mustFile(t, "progressive.jpg")
	frame := bytes.Index(large, []byte{0xff, 0xc2})
	copy(large[frame+5:], []byte{6000 >> 8, 6000 & 0xff, 8000 >> 8, 8000 & 0xff})
	for i := range 3 {
		large[frame+11+3*i] = 0x11
	}
	scans := bytes.Repeat([]byte{0xff, 0xda}, 201)
	for name, test := range map[string]struct {
		upload []byte
		memory int64
		want   string
	}{
		"50.1 megapixels":        {emptyPNG(t, 10_020, 5_000, 8, 2, 0, 0), MaxMemory, "must have at most 50 megapixels, not 10020 x 5000 pixels"},
		"65,535 x 65,535 pixels": {emptyPNG(t, 65_535, 65_535, 1, 0, 0, 0), MaxMemory, "must have at most 50 megapixels"},
		"memory":                 {large, 512 << 20, "needs 814 MiB of memory to decode, and the limit is 512 MiB"},
		"16 bits, interlaced":    {emptyPNG(t, 10_000, 5_000, 16, 6, 1, 0), 512 << 20, "needs 700 MiB of memory"},
		"AVIF of 60 megapixels":  {resized(mustFile(t, "picture.avif"), 10_000, 6_000), MaxMemory, "must have at most 50 megapixels"},
		"AVIF of 65536 pixels":   {resized(mustFile(t, "picture.avif"), 65_536, 65_536), MaxMemory, "must have at most 50 megapixels"},
		"memory of AVIF":         {resized(mustFile(t, "ten.avif"), 8_000, 6_000), 384 << 20, "needs 457 MiB of memory"},
		"201 scans":              {bytes.Replace(asJPEG(t, gradient(64, 48, 255)), startOfScan, scans, 1), MaxMemory, "must be a JPEG file with at most 200 scans"},
		"more than 27 MiB":       {append(asJPEG(t, gradient(64, 48, 255)), make([]byte, MaxFile)...), MaxMemory, "must have at most 28311552 bytes"},
	} {
		_, _, err := run(t, test.memory, test.upload)
		invalid, ok := errors.AsType[tenancy.InvalidError](err)
		if !ok || !strings.HasPrefix(invalid["file"][0], test.want) {
			t.Errorf("%s = %v, want %s", name, err, test.want)
		}
	}
}

// The kernel ends a child that needs more memory than its limit, whatever the headers contain.
func TestAChildHasAMemoryLimit(t *testing.T) {
	t.Parallel()
	upload := emptyPNG(t, 10_000, 5_000, 8, 6, 0, 32)
	if _, pictures, err := run(t, MaxMemory, upload); err != nil || len(pictures) != 1+len(Widths) {
		t.Errorf("50 megapixels = %v, want no error", err)
	}
	if h := mustDecode(t, 384<<20, mustFile(t, "large.avif")); h.Refused != "" || len(h.Sizes) != 1+len(Widths) {
		t.Errorf("50 megapixels of AVIF = %+v, want all sizes", h)
	}
	const enough, tooLittle = 400 << 20, 150 << 20
	if err := runLimited(t, enough, upload); err != nil {
		t.Errorf("with %d MiB: %v", enough>>20, err)
	}
	if err := runLimited(t, tooLittle, upload); err == nil {
		t.Errorf("a child decoded 200 MB with a limit of %d MiB", tooLittle>>20)
	}
}

// mustDecode starts a child and returns what it responds. It has no time limit, because other tests use the CPUs.
func mustDecode(t *testing.T, memory int64, upload []byte) (h header) {
	t.Helper()
	child := exec.CommandContext(t.Context(), "/proc/self/exe")
	child.Args, child.Env = []string{childName}, []string{fmt.Sprintf("%s=%d", memoryVariable, memory)}
	child.Stdin, child.Stderr = bytes.NewReader(upload), os.Stderr
	output, err := child.Output()
	if err == nil {
		line, _, _ := bytes.Cut(output, []byte("\n"))
		err = json.Unmarshal(line, &h)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// runLimited starts a child with a limit that its check of the headers does not know.
func runLimited(t *testing.T, memory int64, upload []byte) error {
	t.Helper()
	child := exec.CommandContext(t.Context(), "/proc/self/exe")
	child.Args, child.Env = []string{childName}, []string{
		fmt.Sprintf("%s=%d", memoryVariable, memory), "STOREROOM_TEST_UNCHECKED=1",
	}
	child.Stdin, child.Stderr = bytes.NewReader(upload), io.Discard
	return child.Run()
}

func decodeUnchecked() int {
	memory, err := strconv.ParseInt(os.Getenv(memoryVariable), 10, 64)
	if err == nil {
		err = limitChild(memory)
	}
	if err == nil {
		_, err = png.Decode(os.Stdin)
	}
	if err != nil {
		return 1
	}
	return 0
}
