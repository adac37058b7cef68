package table

import (
	"encoding/xml"
	"regexp"
	"strconv"
	"strings"
)

// readText reads to the end of an element, and returns the text of v and the texts of t in it, without phonetic hints.
// Without v, it returns a formula, so that an amount that was never calculated is refused instead of left out.
func readText(tokens *xml.Decoder, end string) (v, t string, err error) {
	var value, text, formula strings.Builder
	var in string
	isCalculated := false
	for hints := 0; ; {
		token, err := tokens.RawToken()
		if err != nil {
			return "", "", unexpected(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch in = e.Name.Local; in {
			case "rPh":
				hints++
			case "v":
				isCalculated = true
			case "f":
				formula.WriteByte('=')
			}
		case xml.EndElement:
			switch e.Name.Local {
			case end:
				if !isCalculated {
					return formula.String(), unescape(text.String()), nil
				}
				return value.String(), unescape(text.String()), nil
			case "rPh":
				hints--
			}
			in = ""
		case xml.CharData:
			switch {
			case in == "v":
				value.Write(e)
			case in == "f":
				formula.Write(e)
			case in == "t" && hints == 0:
				text.Write(e)
			}
		}
	}
}

var escaped = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

// unescape replaces _x000D_, which Excel writes for characters that XML cannot contain.
func unescape(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	return escaped.ReplaceAllStringFunc(text, func(code string) string {
		n, _ := strconv.ParseUint(code[2:6], 16, 32)
		return string(rune(n))
	})
}
