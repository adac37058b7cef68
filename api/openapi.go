package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"

	"go.yaml.in/yaml/v2"
)

//go:embed openapi.yaml
var openAPIYAML []byte

// openAPIJSON returns the OpenAPI document as JSON. Its requests go to base, or to the server that it was loaded from
// if base is nil.
func openAPIJSON(base *url.URL) file {
	defer debug.FreeOSMemory() // parsing the document leaves 15 MB of garbage
	body, err := toJSON(openAPIYAML, base)
	if err != nil {
		panic(err) // the document is embedded
	}
	return newFile("application/json", body)
}

const documentPath = "/openapi.json"

// openAPI handles GET /openapi.json. Web pages of every origin may read it.
func (s *Server) openAPI(w http.ResponseWriter, r *http.Request) error {
	w.Header()["Access-Control-Allow-Origin"] = anyOrigin
	s.document().serve(w, r)
	return nil
}

// toJSON converts YAML to JSON. It keeps the order of the keys, because tools show operations and
// fields in that order.
func toJSON(document []byte, base *url.URL) ([]byte, error) {
	var root yaml.MapSlice
	if err := yaml.Unmarshal(document, &root); err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	if base != nil {
		setServer(root, base)
	}
	var b bytes.Buffer
	if err := appendJSON(&b, root); err != nil {
		return nil, fmt.Errorf("convert openapi.yaml: %w", err)
	}
	return b.Bytes(), nil
}

// setServer sets the address of the first server.
func setServer(root yaml.MapSlice, base *url.URL) {
	for _, item := range root {
		if item.Key != "servers" {
			continue
		}
		first := item.Value.([]any)[0].(yaml.MapSlice)
		for i := range first {
			if first[i].Key == "url" {
				first[i].Value = base.String()
			}
		}
	}
}

func appendJSON(b *bytes.Buffer, value any) error {
	switch value := value.(type) {
	case yaml.MapSlice:
		b.WriteByte('{')
		for i, item := range value {
			if i > 0 {
				b.WriteByte(',')
			}
			name, err := json.Marshal(fmt.Sprint(item.Key))
			if err != nil {
				return err
			}
			b.Write(name)
			b.WriteByte(':')
			if err := appendJSON(b, item.Value); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range value {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := appendJSON(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	default:
		scalar, err := json.Marshal(value)
		if err != nil {
			return err
		}
		b.Write(scalar)
	}
	return nil
}
