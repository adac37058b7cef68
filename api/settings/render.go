package settings

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"
)

//go:embed templates
var templateFiles embed.FS

// layouts are in every page: the frame, and parts that several pages have.
var layouts = []string{"templates/layout.html", "templates/parts.html"}

// parseTemplates reads every page, by its name without .html.
func parseTemplates() map[string]*template.Template {
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is good
	}
	templates := map[string]*template.Template{}
	for _, name := range names {
		page := strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")
		if page == "layout" || page == "parts" {
			continue
		}
		templates[page] = template.Must(template.New("layout.html").Funcs(functions).ParseFS(templateFiles, append(layouts, name)...))
	}
	return templates
}

var functions = template.FuncMap{
	"day":    func(t time.Time) string { return t.UTC().Format("2 Jan 2006") },
	"minute": func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04 UTC") },
	"clock":  func(t time.Time) string { return t.UTC().Format("15:04 UTC") },
	"email":  breakable,
	"iso":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"now":    func() string { return time.Now().UTC().Format(time.RFC3339) },
	"tell":   tell,
}

// breakable lets a long e-mail address go on in the next line at a sensible place.
func breakable(email string) template.HTML {
	return template.HTML(strings.NewReplacer("@", "<wbr>@", ".", "<wbr>.").Replace(template.HTMLEscapeString(email)))
}

// tell writes a detail of the audit log, which came as JSON.
func tell(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return tell(v["from"]) + " → " + tell(v["to"])
	case []any:
		parts := make([]string, len(v))
		for i, part := range v {
			parts[i] = fmt.Sprint(part)
		}
		return strings.Join(parts, ", ")
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// frame is what the layout shows around a page.
type frame struct {
	Visit visit
	Page  string // its name, which marks the navigation
	Data  any
}

// Can says whether the person may open pages of that access, for the navigation.
func (f frame) Can(role string) bool {
	return f.Visit.may(map[string]access{"viewer": viewer, "admin": admin, "owner": owner}[role])
}

// show writes a page, whole or not at all.
func (p *Pages) show(w http.ResponseWriter, status int, page string, v visit, data any) error {
	t, known := p.templates[page]
	if !known {
		return fmt.Errorf("there is no page %q", page)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, frame{v, page, data}); err != nil {
		return fmt.Errorf("page %s: %w", page, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a browser that is gone is no error of ours
	return nil
}
