package pages

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/storeroom/storeroom/api/pages/words"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/people"
)

//go:embed templates
var templateFiles embed.FS

// layouts are part of every page. A component gets the data of the layout, with what it shows as Data: see With.
var layouts = []string{"templates/layout.html", "templates/components/*.html"}

// parseTemplates returns a function for each page, by file name without .html. It parses the page when it is first shown,
// because all pages together take 5 MB of memory, which a server without signed-in users does not need.
func parseTemplates() map[string]func() *template.Template {
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is valid
	}
	templates := map[string]func() *template.Template{}
	for _, name := range names {
		page := strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")
		if page == "layout" {
			continue
		}
		templates[page] = sync.OnceValue(func() *template.Template {
			t := template.New("layout.html").Funcs(functions)
			return template.Must(t.ParseFS(templateFiles, append(layouts, name)...))
		})
	}
	return templates
}

var functions = template.FuncMap{
	"now":    func() string { return time.Now().UTC().Format(time.RFC3339) },
	"set":    set,
	"email":  withLineBreaks,
	"title":  title,
	"action": actionPhrase,
	"preset": presetLabel,
	"thumb":  thumb,

	"errorCount":  errorCount,
	"changeTypes": func() []string { return feed.Types },
	"deref":       func(text *string) string { return *text },

	"attributes":  attributes,
	"errorFor":    errorFor,
	"errorList":   errorList,
	"options":     func(field string) []option { return options[field] },
	"roleOptions": roleOptions,
	"contains":    slices.Contains[[]string],
	"path":        url.PathEscape,
	"languages":   func() []words.Language { return words.Languages },

	"importFields":  mappingFields,
	"importActions": func() []changeplan.Action { return importActions },
	"planActions":   func() []changeplan.Action { return planActions },
}

// set returns the data of a component, given by names and values.
func set(pairs ...any) map[string]any {
	values := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return values
}

// withLineBreaks lets a long e-mail or network address wrap before @ and a dot and
// after a colon.
func withLineBreaks(address string) template.HTML {
	escaped := template.HTMLEscapeString(address)
	return template.HTML(strings.NewReplacer("@", "<wbr>@", ".", "<wbr>.", ":", ":<wbr>").Replace(escaped))
}

// title returns a word, such as a role or a status, with a capital letter.
func title(word any) string {
	if role, isPointer := word.(*people.Role); isPointer && role != nil {
		word = *role
	}
	s := fmt.Sprint(word)
	if s == "" {
		return ""
	}
	_, size := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:size]) + s[size:]
}

// layoutData is the data of the layout and of components.
type layoutData struct {
	User    user
	Page    string // name of the template, which selects the active navigation link
	Data    any
	BaseURL *url.URL
}

// With returns the same with other Data, for a component.
func (d layoutData) With(data any) layoutData {
	d.Data = data
	return d
}

// T translates a text: see formatter.T.
func (d layoutData) T(text string, values ...any) string { return d.User.Format.T(text, values...) }

// H translates a text with markup: see formatter.H.
func (d layoutData) H(text string, values ...any) template.HTML {
	return d.User.Format.H(text, values...)
}

// Word translates a word that the database has in lower case, such as a role or a status.
func (d layoutData) Word(word any) string { return d.User.Format.Word(word) }

// Path returns the path of a page of the tenant, which is joined from parts.
func (d layoutData) Path(parts ...any) string {
	var page strings.Builder
	for _, part := range parts {
		if id, isPointer := part.(*int64); isPointer {
			part = *id
		}
		fmt.Fprint(&page, part)
	}
	return d.User.path("/" + page.String())
}

// In reports whether the name of the page starts with one of the sections, which | separates.
func (d layoutData) In(sections string) bool {
	for section := range strings.SplitSeq(sections, "|") {
		if strings.HasPrefix(d.Page, section) {
			return true
		}
	}
	return false
}

// show renders a page into memory before it sends the status, so that no page is
// sent in part.
func (p *Handler) show(w http.ResponseWriter, status int, page string, u user, data any) error {
	var b bytes.Buffer
	if err := p.templates[page]().Execute(&b, layoutData{u, page, data, p.BaseURL}); err != nil {
		return fmt.Errorf("page %s: %w", page, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // fails only if the browser has disconnected
	return nil
}
