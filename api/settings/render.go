package settings

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"slices"
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

	"tie":     tie,
	"fault":   faultOf,
	"inOrder": inOrder,
	"only":    only,
}

// breakable lets a long e-mail or network address go on in the next line at a
// sensible place.
func breakable(address string) template.HTML {
	return template.HTML(strings.NewReplacer("@", "<wbr>@", ".", "<wbr>.", ":", ":<wbr>").Replace(template.HTMLEscapeString(address)))
}

// faults are what is wrong with a form, by the ids of its fields; "" is the form as
// a whole. The template "faults" lists them above the form, "fault" says one beside
// its field, and tie connects the field with that.
type faults map[string]string

// fault is what is wrong with one field.
type fault struct{ Field, Text string }

// only are the faults of a form in which nothing but one field can be wrong.
func only(field, text string) faults { return faults{field: text} }

// tie returns the attributes of a field that has hints, by their ids, and perhaps a
// fault: who hears the page is told of both with the field.
func tie(f faults, field string, hints ...string) template.HTMLAttr {
	var attributes []string
	if f[field] != "" {
		attributes = append(attributes, `aria-invalid="true"`)
		hints = append(hints, field+"-fault")
	}
	if len(hints) > 0 {
		attributes = append(attributes, `aria-describedby="`+strings.Join(hints, " ")+`"`)
	}
	return template.HTMLAttr(strings.Join(attributes, " "))
}

// faultOf returns the fault of a field, or nil.
func faultOf(f faults, field string) *fault {
	if f[field] == "" {
		return nil
	}
	return &fault{field, f[field]}
}

// inOrder lists all faults: of no field of the page first, then as the fields stand.
func inOrder(f faults, fields ...string) []fault {
	var all []fault
	for _, field := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(fields, field) && f[field] != "" {
			all = append(all, fault{"", f[field]})
		}
	}
	for _, field := range fields {
		if f[field] != "" {
			all = append(all, fault{field, f[field]})
		}
	}
	return all
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

// In says whether the page is one of those whose names begin so, for the navigation.
func (f frame) In(section string) bool { return strings.HasPrefix(f.Page, section) }

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
