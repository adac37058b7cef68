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

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/people"
)

//go:embed templates
var templateFiles embed.FS

// layouts are part of every page.
var layouts = []string{"templates/layout.html", "templates/parts.html"}

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
		if page == "layout" || page == "parts" {
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
	"email":  withLineBreaks,
	"title":  title,
	"action": actionPhrase,
	"label":  detailLabel,
	"text":   detailText,
	"preset": presetLabel,
	"thumb":  thumb,

	"errorCount":  errorCount,
	"changeTypes": func() []string { return feed.Types },
	"deref":       func(text *string) string { return *text },

	"attributes": attributes,
	"errorFor":   errorFor,
	"errorList":  errorList,
	"options":    func(field string) []option { return options[field] },
	"contains":   slices.Contains[[]string],
	"periods":    func() []string { return reports.Presets },
	"period":     periodLabel,
	"path":       url.PathEscape,

	"importFormat": formatName,
	"importField":  imports.Label,
	"importFields": mappingFields,
	"importOption": func(q importQuestion, choice importChoice) map[string]any {
		return map[string]any{"ID": q.ID, "Choice": choice, "Required": q.Asked}
	},
	"importActions": func() []changeplan.Action { return importActions },
	"planActions":   func() []changeplan.Action { return planActions },
	"changes":       changesOf,
	"problems":      problemsOf,
	"product": func(slug string, id any, name, sku string) map[string]any {
		return map[string]any{"Slug": slug, "ID": id, "Name": name, "SKU": sku}
	},
	"prompt": func(u user, errors fieldErrors, field string) passwordPrompt {
		return passwordPrompt{u, errors, field}
	},
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
	return strings.ToUpper(s[:1]) + s[1:]
}

// layoutData is the data of the layout.
type layoutData struct {
	User    user
	Page    string // name of the template, which selects the active navigation link
	Data    any
	BaseURL *url.URL
}

// In reports whether the name of the page starts with section.
func (d layoutData) In(section string) bool { return strings.HasPrefix(d.Page, section) }

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
