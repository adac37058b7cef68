package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"

	"github.com/storeroom/storeroom/catalog/media/avif"
)

const (
	maxPixels = 50_000_000
	// otherMemory is what a child needs in addition to the decoded original: the program, the upload, the smaller
	// pictures and their encoded forms.
	otherMemory = 128 << 20
)

// maxScans limits the scans of a progressive JPEG file, which normally has about ten. A scan visits all pixels,
// whatever its size, so a small file could need minutes.
const maxScans = 200

var startOfScan = []byte{0xff, 0xda} // data of a picture does not contain it

// format is a format that is accepted.
type format struct {
	name   string
	decode func([]byte) (image.Image, error)
	config func([]byte) (image.Config, error)
	// need returns the bytes of memory that decode uses.
	need        func(upload []byte, c image.Config) int64
	orientation func([]byte) int // of EXIF
}

var (
	jpegFormat = format{"JPEG", reading(jpeg.Decode), reading(jpeg.DecodeConfig), jpegMemory, ofEXIF(jpegEXIF)}
	pngFormat  = format{"PNG", reading(png.Decode), reading(png.DecodeConfig), pngMemory, ofEXIF(pngEXIF)}
	gifFormat  = format{"GIF", reading(gif.Decode), reading(gif.DecodeConfig), gifMemory, nil}
	webpFormat = format{"WebP", reading(webp.Decode), reading(webp.DecodeConfig), webpMemory, ofEXIF(webpEXIF)}
)

// newAVIFFormat returns the format of AVIF. Its function config opens the picture, and the other functions use it.
func newAVIFFormat() format {
	var p *avif.Picture
	return format{
		name:   "AVIF",
		decode: func([]byte) (image.Image, error) { return p, p.Decode() },
		config: func(upload []byte) (c image.Config, err error) {
			if p, err = avif.Open(upload); err == nil {
				c = p.Config()
			}
			return c, err
		},
		need:        func([]byte, image.Config) int64 { return p.Memory() + 32<<20 }, // and what compiling the decoder needs
		orientation: func([]byte) int { return p.Orientation() },
	}
}

func ofEXIF(find func([]byte) []byte) func([]byte) int {
	return func(upload []byte) int { return orientationOf(find(upload)) }
}

func reading[T any](read func(io.Reader) (T, error)) func([]byte) (T, error) {
	return func(upload []byte) (T, error) { return read(bytes.NewReader(upload)) }
}

// detect returns the format of an upload by its first bytes. Its name and content type are not used.
func detect(upload []byte) (format, error) {
	begins := func(text string) bool { return bytes.HasPrefix(upload, []byte(text)) }
	switch {
	case begins("\xff\xd8\xff"):
		return jpegFormat, nil
	case begins("\x89PNG\r\n\x1a\n"):
		return pngFormat, nil
	case begins("GIF87a"), begins("GIF89a"):
		return gifFormat, nil
	case begins("RIFF") && len(upload) > 12 && string(upload[8:12]) == "WEBP":
		return webpFormat, nil
	case avif.IsAVIF(upload):
		return newAVIFFormat(), nil
	}
	return format{}, &refusal{"must be a JPEG, PNG, WebP, GIF or AVIF file", true}
}

// decode returns the first frame of an upload and its EXIF orientation. It refuses an upload before it decodes it if
// that would need more than memory.
func decode(upload []byte, memory int64) (image.Image, int, error) {
	if len(upload) > MaxFile {
		return nil, 0, &refusal{reason: fmt.Sprintf("must have at most %d bytes", MaxFile)}
	}
	f, err := detect(upload)
	if err != nil {
		return nil, 0, err
	}
	if f.name == webpFormat.name {
		upload = firstFrame(upload)
	}
	broken := &refusal{reason: "is not a valid " + f.name + " file"}
	c, err := f.config(upload)
	switch {
	case errors.Is(err, avif.ErrUnavailable):
		return nil, 0, &refusal{"must be a JPEG, PNG, WebP or GIF file: this server cannot decode AVIF files", true}
	case errors.Is(err, avif.ErrTooLarge):
		return nil, 0, &refusal{reason: fmt.Sprintf("must have at most %d megapixels", maxPixels/1_000_000)}
	case err != nil, c.Width < 1, c.Height < 1:
		return nil, 0, broken
	}
	if int64(c.Width)*int64(c.Height) > maxPixels {
		return nil, 0, &refusal{reason: fmt.Sprintf("must have at most %d megapixels, not %d x %d pixels",
			maxPixels/1_000_000, c.Width, c.Height)}
	}
	if need := f.need(upload, c) + otherMemory; need > memory {
		return nil, 0, &refusal{reason: fmt.Sprintf(
			"needs %d MiB of memory to decode, and the limit is %d MiB: send fewer pixels or, for a JPEG file, a baseline one",
			need>>20, memory>>20)}
	}
	if f.name == jpegFormat.name && bytes.Count(upload, startOfScan) > maxScans {
		return nil, 0, &refusal{reason: fmt.Sprintf("must be a JPEG file with at most %d scans", maxScans)}
	}
	original, err := f.decode(upload)
	if err != nil {
		return nil, 0, broken
	}
	orientation := 1
	if f.orientation != nil {
		orientation = f.orientation(upload)
	}
	return original, orientation, nil
}

// jpegMemory counts the samples of all components in whole blocks. A progressive file keeps a coefficient of four bytes
// for each of them. Four components, and three that are not YCbCr, are converted to four bytes for each pixel.
func jpegMemory(upload []byte, c image.Config) int64 {
	pixels := int64(c.Width) * int64(c.Height)
	need := 4*pixels + 15*pixels // the most, for a header that is not found
	eachJPEGSegment(upload, func(marker byte, segment []byte) bool {
		if marker < 0xc0 || marker > 0xc2 || len(segment) < 6 {
			return true
		}
		components := int(segment[5])
		if len(segment) < 6+3*components || components < 1 {
			return false
		}
		var mostH, mostV int
		for i := range components {
			sampling := segment[6+3*i+1]
			mostH, mostV = max(mostH, int(sampling>>4)), max(mostV, int(sampling&15))
		}
		if mostH == 0 || mostV == 0 {
			return false
		}
		units := int64((c.Width+8*mostH-1)/(8*mostH)) * int64((c.Height+8*mostV-1)/(8*mostV))
		var samples int64
		for i := range components {
			sampling := segment[6+3*i+1]
			samples += units * 64 * int64(sampling>>4) * int64(sampling&15)
		}
		need = samples
		if marker == 0xc2 {
			need += 4 * samples
		}
		if components == 4 || components == 3 && segment[6] == 'R' {
			need += 4 * pixels
		}
		return false
	})
	return need
}

// pngMemory counts eight bytes for each pixel with 16 bits per channel, one for palettes and four for others, and half
// as much again for interlaced files.
func pngMemory(upload []byte, c image.Config) int64 {
	need := int64(c.Width) * int64(c.Height)
	const depth, kind, interlace = 24, 25, 28 // in the first chunk
	switch {
	case len(upload) <= interlace || upload[depth] == 16:
		need *= 8
	case upload[kind] != 3:
		need *= 4
	}
	if len(upload) > interlace && upload[interlace] != 0 {
		need += need / 2
	}
	return need
}

func gifMemory(_ []byte, c image.Config) int64 { return int64(c.Width) * int64(c.Height) }

// webpMemory counts four bytes for each pixel twice, which lossless files and transparency need.
func webpMemory(_ []byte, c image.Config) int64 { return 8 * int64(c.Width) * int64(c.Height) }

// eachJPEGSegment calls f with each segment before the first scan until f returns false.
func eachJPEGSegment(upload []byte, f func(marker byte, segment []byte) bool) {
	for rest := upload[2:]; len(rest) >= 4 && rest[0] == 0xff; {
		marker := rest[1]
		if marker == 0xff { // a fill byte
			rest = rest[1:]
			continue
		}
		length := int(binary.BigEndian.Uint16(rest[2:]))
		if marker == 0xda || length < 2 || len(rest) < 2+length || !f(marker, rest[4:2+length]) {
			return
		}
		rest = rest[2+length:]
	}
}

func jpegEXIF(upload []byte) (exif []byte) {
	eachJPEGSegment(upload, func(marker byte, segment []byte) bool {
		found := marker == 0xe1 && bytes.HasPrefix(segment, []byte("Exif\x00\x00"))
		if found {
			exif = segment[6:]
		}
		return !found
	})
	return exif
}

func pngEXIF(upload []byte) []byte {
	for rest := upload[8:]; len(rest) >= 12; {
		length := int64(binary.BigEndian.Uint32(rest))
		if int64(len(rest)) < 12+length {
			return nil
		}
		if string(rest[4:8]) == "eXIf" {
			return rest[8 : 8+length]
		}
		rest = rest[12+length:]
	}
	return nil
}

// eachWebPChunk calls f with the chunks of a RIFF file after its header.
func eachWebPChunk(chunks []byte, f func(name string, content []byte)) {
	for rest := chunks; len(rest) >= 8; {
		length := int64(binary.LittleEndian.Uint32(rest[4:]))
		if int64(len(rest)) < 8+length {
			return
		}
		f(string(rest[:4]), rest[8:8+length])
		rest = rest[min(8+length+length%2, int64(len(rest))):]
	}
}

func webpEXIF(upload []byte) (exif []byte) {
	eachWebPChunk(upload[12:], func(name string, content []byte) {
		if name == "EXIF" {
			exif = bytes.TrimPrefix(content, []byte("Exif\x00\x00"))
		}
	})
	return exif
}

// firstFrame returns the first frame of an animated WebP file as a file, because the decoder reads no animations.
func firstFrame(upload []byte) []byte {
	const animation, alpha, frameHeader = 0x02, 0x10, 16
	animated := false
	var frame []byte
	eachWebPChunk(upload[12:], func(name string, content []byte) {
		switch {
		case name == "VP8X" && len(content) == 10:
			animated = content[0]&animation != 0
		case name == "ANMF" && frame == nil && len(content) > frameHeader:
			frame = content
		}
	})
	if !animated || frame == nil {
		return upload
	}
	still := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(4+18+len(frame)-frameHeader))
	still = append(still, "WEBPVP8X\x0a\x00\x00\x00"...)
	flags := byte(0)
	eachWebPChunk(frame[frameHeader:], func(name string, _ []byte) {
		if name == "ALPH" {
			flags = alpha
		}
	})
	still = append(still, flags, 0, 0, 0)
	still = append(still, frame[6:12]...) // width and height
	return append(still, frame[frameHeader:]...)
}

// orientationOf returns the orientation in a TIFF header, or 1.
func orientationOf(exif []byte) int {
	if len(exif) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if exif[0] == 'I' {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(exif[4:]))
	if at+2 > int64(len(exif)) {
		return 1
	}
	entries := exif[at+2:]
	for range order.Uint16(exif[at:]) {
		if len(entries) < 12 {
			return 1
		}
		if order.Uint16(entries) == 0x0112 {
			if n := int(order.Uint16(entries[8:])); n >= 1 && n <= 8 {
				return n
			}
			return 1
		}
		entries = entries[12:]
	}
	return 1
}
