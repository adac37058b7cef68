package changeplan

import (
	"encoding/json"

	"github.com/klauspost/compress/zstd"
)

// maxPartBytes limits the size of a part in memory.
const maxPartBytes = 64 << 20

// The errors are ignored: they report invalid options.
var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPartBytes))
)

func compress(text []byte) []byte {
	if text == nil {
		return nil
	}
	return encoder.EncodeAll(text, nil)
}

func (p *Part) decompress() (err error) {
	if p.Rows, err = decoder.DecodeAll(p.Rows, nil); err == nil && p.Result != nil {
		p.Result, err = decoder.DecodeAll(p.Result, nil)
	}
	return err
}

// mustJSON returns a value of this package as JSON.
func mustJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
