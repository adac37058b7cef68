package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// object is a mapping of the document, in the order of its keys.
type object struct {
	keys   []string
	values map[string]any
}

func readDocument(path string) (*object, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(content, &root); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return ordered(root.Content[0]).(*object), nil
}

// ordered returns an object, a list or the text of a scalar. Null is nil.
func ordered(node *yaml.Node) any {
	switch node.Kind {
	case yaml.MappingNode:
		o := &object{values: map[string]any{}}
		for i := 0; i < len(node.Content); i += 2 {
			key := node.Content[i].Value
			o.keys = append(o.keys, key)
			o.values[key] = ordered(node.Content[i+1])
		}
		return o
	case yaml.SequenceNode:
		list := make([]any, len(node.Content))
		for i, child := range node.Content {
			list[i] = ordered(child)
		}
		return list
	case yaml.AliasNode:
		return ordered(node.Alias)
	}
	if node.Tag == "!!null" {
		return nil
	}
	return node.Value
}

func (o *object) object(name string) *object {
	if o == nil {
		return nil
	}
	child, _ := o.values[name].(*object)
	return child
}

func (o *object) list(name string) []any {
	if o == nil {
		return nil
	}
	list, _ := o.values[name].([]any)
	return list
}

func (o *object) text(name string) string {
	if o == nil {
		return ""
	}
	text, _ := o.values[name].(string)
	return text
}

func (o *object) has(name string) bool {
	if o == nil {
		return false
	}
	_, has := o.values[name]
	return has
}

// texts returns a list of texts, or a single one as a list.
func (o *object) texts(name string) []string {
	if text := o.text(name); text != "" {
		return []string{text}
	}
	var texts []string
	for _, value := range o.list(name) {
		if text, is := value.(string); is {
			texts = append(texts, text)
		}
	}
	return texts
}

// without returns a copy that lacks a key.
func (o *object) without(name string) *object {
	copied := &object{values: map[string]any{}}
	for _, key := range o.keys {
		if key != name {
			copied.set(key, o.values[key])
		}
	}
	return copied
}

func (o *object) set(key string, value any) {
	if !o.has(key) {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// component returns the component of a reference and its name.
func (o *object) component(reference string) (*object, string) {
	parts := strings.Split(strings.TrimPrefix(reference, "#/"), "/")
	for _, part := range parts {
		o = o.object(part)
	}
	if o == nil {
		panic("no component " + reference)
	}
	return o, parts[len(parts)-1]
}

// words splits a name in snake_case, camelCase or kebab-case into lower-case words.
func words(name string) []string {
	var found []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			found = append(found, strings.ToLower(word.String()))
		}
		word.Reset()
	}
	runes := []rune(name)
	for i, r := range runes {
		upper := r >= 'A' && r <= 'Z'
		afterLower := i > 0 && runes[i-1] >= 'a' && runes[i-1] <= 'z'
		beforeLower := i > 0 && i+1 < len(runes) && runes[i+1] >= 'a' && runes[i+1] <= 'z'
		switch {
		case r == '_' || r == '-' || r == ' ':
			end()
			continue
		case upper && (afterLower || beforeLower):
			end()
		}
		word.WriteRune(r)
	}
	end()
	return found
}

// pascal joins words in PascalCase, with abbreviations in capitals.
func pascal(name string) string {
	abbreviations := []string{"id", "url", "sku", "upc", "msrp", "api"}
	var b strings.Builder
	for _, word := range words(name) {
		if slices.Contains(abbreviations, word) {
			b.WriteString(strings.ToUpper(word))
		} else {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

func snake(name string) string { return strings.Join(words(name), "_") }

// wrap breaks a text into lines of at most width characters, and keeps its paragraphs.
func wrap(text string, width int) []string {
	var lines []string
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			lines = append(lines, "")
		}
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && len(line)+1+len(word) > width {
				lines = append(lines, line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		lines = append(lines, line)
	}
	return lines
}
