package table

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// charset is how the characters of a text are encoded.
type charset string

const (
	utf8Text    charset = "utf-8"
	utf16Little charset = "utf-16le"
	utf16Big    charset = "utf-16be"
	windows1252 charset = "windows-1252"
)

// detectCharset reads a whole text. A text that is not UTF-8 is Windows-1252 if its other bytes are letters or signs
// there; 0xFF is ÿ, but is more often damage. A text with at least as many multi-byte characters of UTF-8 as other
// bytes is damaged UTF-8, and rows with such bytes are refused.
func detectCharset(r io.Reader) (charset, error) {
	buffer := make([]byte, 64<<10)
	n, err := io.ReadFull(r, buffer)
	if n == 0 && errors.Is(err, io.EOF) {
		return utf8Text, nil
	}
	if c := utf16(buffer[:n]); c != "" {
		return c, nil
	}
	var valid, other int // characters of more than one byte; bytes that are characters of Windows-1252 only
	for {
		text, last := buffer[:n], errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return "", err
		}
		for len(text) > 0 && (last || utf8.FullRune(text)) {
			char, size := utf8.DecodeRune(text)
			switch {
			case size > 1:
				valid++
			case char == utf8.RuneError && strings.IndexByte("\x81\x8D\x8F\x90\x9D\xFF", text[0]) < 0:
				other++
			}
			text = text[size:]
		}
		if last {
			break
		}
		n = copy(buffer, text)
		var read int
		read, err = io.ReadFull(r, buffer[n:])
		n += read
	}
	if other > valid {
		return windows1252, nil
	}
	return utf8Text, nil
}

// utf16 recognises UTF-16 by its byte order mark, or by zeros in every second byte.
func utf16(start []byte) charset {
	switch {
	case bytes.HasPrefix(start, []byte("\xFF\xFE")):
		return utf16Little
	case bytes.HasPrefix(start, []byte("\xFE\xFF")):
		return utf16Big
	}
	var zeros [2]int
	for i, b := range start[:min(len(start), 4096)] {
		if b == 0 {
			zeros[i%2]++
		}
	}
	half := min(len(start), 4096) / 2
	switch {
	case half < 4:
	case zeros[1] > half/2 && zeros[0] < half/10+1:
		return utf16Little
	case zeros[0] > half/2 && zeros[1] < half/10+1:
		return utf16Big
	}
	return ""
}

// decode returns a text as UTF-8 without a byte order mark. Invalid UTF-8 stays as it is.
func decode(r io.Reader, c charset) io.Reader {
	switch c {
	case utf16Little:
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(r)
	case utf16Big:
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder().Reader(r)
	case windows1252:
		return charmap.Windows1252.NewDecoder().Reader(r)
	}
	return r
}
