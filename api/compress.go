package api

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/storeroom/storeroom/tenancy/limits"
)

// The pages for signed-in users are not compressed: from the sizes of compressed pages, an attacker who can add text
// to them could guess their form token (BREACH). Responses of the API are safe, because a browser does not send keys
// with requests of other sites.

const (
	// minCompressed is the minimum size of a compressed response.
	minCompressed = 1 << 10
	// compressorMemory is the size of a compressor. It counts as memory of the user if the compressor waits for a CPU.
	compressorMemory = 1 << 20
	// zstdWindow bounds the memory of a compressor, and of the client.
	zstdWindow = 128 << 10
)

// coding is a content coding.
type coding struct {
	name        string
	compressors sync.Pool
}

type compressor interface {
	io.WriteCloser
	Flush() error
	Reset(io.Writer)
}

// codings are the supported content codings. If the client has no preference, the first one is used.
var codings = []*coding{
	{name: "zstd", compressors: sync.Pool{New: func() any {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err) // the options are valid
		}
		return z
	}}},
	{name: "gzip", compressors: sync.Pool{New: func() any {
		z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		if err != nil {
			panic(err) // the level is valid
		}
		return z
	}}},
}

// codingOf returns the coding of a response with a body of that size, or nil. A response that is stored for an
// Idempotency-Key has none.
func codingOf(w http.ResponseWriter, size int) *coding {
	recorded, ok := w.(*recorder)
	if !ok || size < minCompressed {
		return nil
	}
	header := recorded.request.Header
	var best *coding
	highest, identity := 0.0, weight(header, "identity")
	for _, c := range codings {
		if w := weight(header, c.name); w > highest && w >= identity {
			best, highest = c, w
		}
	}
	return best
}

// weight returns the weight of a content coding in the Accept-Encoding header: that of its name, or else that of *.
func weight(h http.Header, name string) (weight float64) {
	for _, list := range h["Accept-Encoding"] {
		for item := range strings.SplitSeq(list, ",") {
			coding, parameter, _ := strings.Cut(item, ";")
			coding = strings.TrimSpace(coding)
			named := strings.EqualFold(coding, name)
			if !named && coding != "*" {
				continue
			}
			q := 1.0
			if text, found := strings.CutPrefix(strings.ToLower(strings.TrimSpace(parameter)), "q="); found {
				var err error
				if q, err = strconv.ParseFloat(text, 64); err != nil {
					q = 0
				}
			}
			if named {
				return q
			}
			weight = q
		}
	}
	return weight
}

// varies adds Accept-Encoding to the Vary header. A stored response already has it.
func varies(h http.Header) {
	if !slices.Contains(h.Values("Vary"), "Accept-Encoding") {
		h.Add("Vary", "Accept-Encoding")
	}
}

// etag returns the entity tag of the encoded variant of a body. Each variant has its own strong tag, because a weak
// tag never matches If-Match. c may be nil.
func (c *coding) etag(tag string) string {
	if c == nil {
		return tag
	}
	return strings.TrimSuffix(tag, `"`) + "-" + c.name + `"`
}

// get returns a compressor that writes to w. put must be called.
func (c *coding) get(w io.Writer) compressor {
	z := c.compressors.Get().(compressor)
	z.Reset(w)
	return z
}

func (c *coding) put(z compressor) {
	z.Reset(nil)
	c.compressors.Put(z)
}

// encode returns the compressed body. If the user has no memory left for a large one, ok is false.
func (c *coding) encode(ticket *limits.Ticket, body []byte) (_ []byte, ok bool) {
	if ticket != nil && len(body) > largePart {
		release, free := ticket.Try(limits.Memory, compressorMemory)
		if !free {
			return nil, false
		}
		defer release()
	}
	var b bytes.Buffer
	b.Grow(len(body) / 4)
	z := c.get(&b)
	defer c.put(z)
	for part := range slices.Chunk(body, largePart) {
		runtime.Gosched()
		_, _ = z.Write(part) // a bytes.Buffer never fails
	}
	_ = z.Close()
	return b.Bytes(), true
}
