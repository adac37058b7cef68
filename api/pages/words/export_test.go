package words

import "golang.org/x/text/message"

// OwnTexts returns how many texts the columns of our own files have, and one that two columns share.
func OwnTexts(code string) (n int, repeated string) {
	l, _ := Named(code)
	printer, seen := message.NewPrinter(l.Tag, message.Catalog(Catalog())), map[string]bool{}
	for _, name := range own {
		text := printer.Sprintf(columns[name])
		if seen[text] {
			return len(seen), text
		}
		seen[text] = true
	}
	return len(seen), ""
}
