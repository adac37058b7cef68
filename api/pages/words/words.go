// Package words has the texts of the pages in other languages.
//
// A text in a template or in Go is English. The file of a language has a line for each text:
//
//	"No orders yet" = "Noch keine Bestellungen"
//	"%d orders" = one "%d Bestellung", other "%d Bestellungen"
//
// The second line chooses a form by the first number of the text. English has only lines of this kind. Values stand
// where the text has %s and %d; %[2]s is the second value, if the order differs. A percent sign is written %%.
package words

import (
	"bufio"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message/catalog"
)

//go:embed *.txt
var files embed.FS

// Language is a language of the pages.
type Language struct {
	Code string // ISO 639-1
	Name string // in the language itself
	Tag  language.Tag
}

// Languages are all languages. The first is that of the texts in the source.
var Languages = []Language{
	{"en", "English", language.English}, {"de", "Deutsch", language.German},
	{"fr", "Français", language.French}, {"es", "Español", language.Spanish},
}

// Named returns the language with a code.
func Named(code string) (Language, bool) {
	for _, l := range Languages {
		if l.Code == code {
			return l, true
		}
	}
	return Language{}, false
}

var matcher = sync.OnceValue(func() language.Matcher {
	var tags []language.Tag
	for _, l := range Languages {
		tags = append(tags, l.Tag)
	}
	return language.NewMatcher(tags)
})

// Match returns the language that fits best to those of a browser, the preferred one first. It is English if none fits.
func Match(accepted []language.Tag) Language {
	_, i, confidence := matcher().Match(accepted...)
	if confidence < language.High {
		return Languages[0]
	}
	return Languages[i]
}

// Message is a text in a language: one form, or a form for each plural category of a number.
type Message struct {
	Text  string
	Forms map[string]string // by category, such as one and other; nil without a number
}

// Read returns the messages of a language by their English text.
func Read(code string) (map[string]Message, error) {
	file, err := files.Open(code + ".txt")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	messages := map[string]Message{}
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, m, err := parse(line)
		if _, repeated := messages[key]; repeated && err == nil {
			err = fmt.Errorf("%q is repeated", key)
		}
		if err != nil {
			return nil, fmt.Errorf("%s.txt line %d: %w", code, n, err)
		}
		messages[key] = m
	}
	return messages, lines.Err()
}

// parse reads a line of a file.
func parse(line string) (key string, m Message, err error) {
	key, rest, err := quoted(line)
	if err != nil {
		return "", m, err
	}
	rest, found := strings.CutPrefix(rest, "=")
	if !found {
		return "", m, fmt.Errorf("expected = after %q", key)
	}
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, `"`) {
		if m.Text, rest, err = quoted(rest); err == nil && rest != "" {
			err = fmt.Errorf("unexpected %s", rest)
		}
		return key, m, err
	}
	m.Forms = map[string]string{}
	for {
		category, form, _ := strings.Cut(rest, " ")
		if m.Forms[category], rest, err = quoted(form); err != nil {
			return "", m, err
		}
		if rest == "" {
			break
		}
		if rest, found = strings.CutPrefix(rest, ","); !found {
			return "", m, fmt.Errorf("expected a comma before %s", rest)
		}
		rest = strings.TrimSpace(rest)
	}
	if m.Forms["other"] == "" {
		return "", m, fmt.Errorf("%q has no form other", key)
	}
	return key, m, nil
}

// quoted cuts a text in quotes from the start of a line.
func quoted(line string) (text, rest string, err error) {
	prefix, err := strconv.QuotedPrefix(line)
	if err == nil {
		text, err = strconv.Unquote(prefix)
	}
	if err != nil {
		return "", "", fmt.Errorf("expected a text in quotes at %s", line)
	}
	return text, strings.TrimSpace(line[len(prefix):]), nil
}

// Catalog returns the messages of all languages.
var Catalog = sync.OnceValue(func() catalog.Catalog {
	b := catalog.NewBuilder(catalog.Fallback(language.English))
	for _, l := range Languages {
		messages, err := Read(l.Code)
		for key, m := range messages {
			if err == nil {
				err = b.Set(l.Tag, key, m.compiled())
			}
		}
		if err != nil {
			panic(err) // the files are part of the program, and a test reads them
		}
	}
	return b
})

func (m Message) compiled() catalog.Message {
	if m.Forms == nil {
		return catalog.String(m.Text)
	}
	var cases []any
	for _, category := range []string{"one", "many"} {
		if form, exists := m.Forms[category]; exists {
			cases = append(cases, category, form)
		}
	}
	return plural.Selectf(1, "%d", append(cases, "other", m.Forms["other"])...)
}
