package table

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// charset is how the characters of a text are encoded: UTF-8 or UTF-16, or a name of the HTML standard.
type charset string

const (
	utf8Text    charset = "utf-8"
	utf16Little charset = "utf-16le"
	utf16Big    charset = "utf-16be"
	windows1252 charset = "windows-1252"
)

// sampleSize is how many bytes of lines that are not UTF-8 decide about their characters.
const sampleSize = 64 << 10

// maxExample limits the characters of a line that is shown.
const maxExample = 100

// Charsets are the answers to the question how characters are encoded. Files in UTF-8 and UTF-16 are never asked about.
var Charsets = []string{
	"windows-1252", "windows-1250", "windows-1251", "windows-1253", "windows-1254", "windows-1257", "shift_jis", "euc-jp",
	"gbk", "big5", "euc-kr", "koi8-r", "iso-8859-2", "iso-8859-5", "iso-8859-7", "macintosh",
}

// detectCharset reads a whole text. A text with at least as many multi-byte characters of UTF-8 as other bytes is damaged
// UTF-8, and rows with such bytes are refused. 0xFF is more often damage than a letter. sample has lines that are not
// UTF-8.
func detectCharset(r io.Reader) (c charset, sample []byte, err error) {
	buffer := make([]byte, sampleSize)
	n, err := io.ReadFull(r, buffer)
	if n == 0 && errors.Is(err, io.EOF) {
		return utf8Text, nil, nil
	}
	if c := utf16(buffer[:n]); c != "" {
		return c, nil, nil
	}
	var valid, other int // characters of more than one byte; bytes that are not UTF-8
	for {
		text, last := buffer[:n], errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return "", nil, err
		}
		whole, before := text, other
		for len(text) > 0 && (last || utf8.FullRune(text)) {
			char, size := utf8.DecodeRune(text)
			switch {
			case size > 1:
				valid++
			case char == utf8.RuneError && text[0] != 0xFF:
				other++
			}
			text = text[size:]
		}
		if other > before {
			sample = appendLines(sample, whole)
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
		return windows1252, sample, nil
	}
	return utf8Text, nil, nil
}

// appendLines appends the lines of a text that are not UTF-8.
func appendLines(sample, text []byte) []byte {
	for line := range bytes.Lines(text) {
		if len(sample)+len(line) <= sampleSize && !utf8.Valid(line) {
			sample = append(sample, line...)
		}
	}
	return sample
}

// guess returns how lines that are not UTF-8 are encoded, and whether they can be read in another way too. A sign between
// the letters of a word is none of Windows-1252.
func guess(sample []byte) (c charset, isUnsure bool) {
	found := charset(strings.ToLower(chardet.Detect(sample).Charset))
	western := text(sample, windows1252)
	if found == "iso-8859-1" || found == "ascii" || found == "" {
		found = windows1252
	}
	if found == "iso-8859-9" {
		found = "windows-1254"
	}
	if !slices.Contains(Charsets, string(found)) {
		return windows1252, true
	}
	if text(sample, found) == western && signInWord.MatchString(western) {
		found = "windows-1250"
	}
	return found, text(sample, found) != western
}

var signInWord = regexp.MustCompile(`\pL[¡-©«-´¶-¹»-¿]+\pL|[¡£¥¦§¨¬¯±²³¶¹¼½¾][\p{Ll}]`)

// text returns bytes as UTF-8.
func text(sample []byte, c charset) string {
	content, _ := io.ReadAll(decode(bytes.NewReader(sample), c)) // in memory
	return string(content)
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
	case utf8Text:
		return r
	case utf16Little:
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(r)
	case utf16Big:
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder().Reader(r)
	}
	encoding, err := htmlindex.Get(string(c))
	if err != nil {
		return r
	}
	return encoding.NewDecoder().Reader(r)
}

// Charset returns how characters are encoded, with other ways if that is not sure, and lines of the file in each.
func (f *File) Charset() (choices []string, lines map[string][]string) {
	if f.sample == nil {
		return nil, nil
	}
	found, isUnsure := guess(f.sample)
	if !isUnsure {
		return nil, nil
	}
	lines = map[string][]string{}
	for _, choice := range append([]string{string(found)}, Charsets...) {
		if lines[choice] == nil {
			choices = append(choices, choice)
			for line := range strings.Lines(text(f.sample, charset(choice))) {
				runes := []rune(strings.TrimSpace(line))
				if lines[choice] = append(lines[choice], string(runes[:min(len(runes), maxExample)])); len(lines[choice]) == 2 {
					break
				}
			}
		}
	}
	return choices, lines
}

// SetCharset decodes a text that is not UTF-8 in a way of Charsets.
func (f *File) SetCharset(name string) {
	if f.sample != nil {
		f.charset = charset(name)
	}
}

// Undecoded returns texts as they are read before it is known that their characters are encoded in a way of Charsets.
func Undecoded(texts []string, name string) []string {
	encoding, err := htmlindex.Get(name)
	if err != nil {
		return texts
	}
	undecoded := make([]string, len(texts))
	for i, content := range texts {
		encoded, err := encoding.NewEncoder().String(content)
		if err != nil {
			return texts
		}
		undecoded[i] = text([]byte(encoded), windows1252)
	}
	return undecoded
}
