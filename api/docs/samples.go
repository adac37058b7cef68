package docs

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
)

// parameterExamples are values of the parameters that a path or an operation requires.
var parameterExamples = map[string]string{
	"id": "1042", "image_id": "3", "sku": "MUG-BLUE-350", "number": "SO-1001", "customer_id": "C-10042",
	"identifier": "web", "type": "sales-summary", "name": "Gq2oW0ZbWcXhYv5mT7cQ8tqN.jpg", "from": "2026-03-01",
	"to": "2026-03-31", "since": "2026-03-01T00:00:00Z", "after": "now",
}

// curl returns the command that sends the operation with its example. It is for a POSIX shell with the variables URL and
// KEY.
func (o operation) curl(withKey bool) string {
	path, query := o.Path, url.Values{}
	for _, p := range o.Parameters {
		example := parameterExamples[p.Name]
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(example))
		case p.In == "query" && p.Required:
			query.Set(p.Name, example)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	lines := []string{`curl -sS "$URL` + path + `"`}
	if o.Method != "GET" && (o.Method != "POST" || o.Body == nil) {
		lines[0] = "curl -sS -X " + o.Method + ` "$URL` + path + `"`
	}
	if withKey {
		lines = append(lines, `-H "Authorization: Bearer $KEY"`)
	}
	switch {
	case o.Body == nil:
	case o.Body.IsForm && strings.Contains(o.Path, "images"):
		lines = append(lines, "-F file=@photo.jpg")
	case o.Body.IsForm:
		lines = append(lines, "-F file=@orders.csv")
	case o.Body.Example != "":
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(o.Body.Example)); err != nil {
			panic(err) // the example was encoded as JSON
		}
		lines = append(lines, "-H 'Content-Type: application/json'",
			"-d '"+strings.ReplaceAll(compact.String(), "'", `'\''`)+"'")
	}
	return strings.Join(lines, " \\\n  ")
}
