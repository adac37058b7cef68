package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type pyWriter struct {
	*sdk
	bytes.Buffer
}

func (w *pyWriter) line(format string, arguments ...any) { fmt.Fprintf(w, format+"\n", arguments...) }

// doc writes the text of a class or a method.
func (w *pyWriter) doc(indent, text string) {
	text = strings.ReplaceAll(text, `\`, `\\`)
	lines := wrap(text, 100)
	if len(lines) == 1 {
		w.line(`%s"""%s"""`, indent, lines[0])
		return
	}
	w.line(`%s"""%s`, indent, lines[0])
	for _, line := range lines[1:] {
		w.line("%s", strings.TrimRight(indent+line, " "))
	}
	w.line(`%s"""`, indent)
}

func writePython(s *sdk) ([]byte, error) {
	w := &pyWriter{sdk: s}
	w.line(`"""Types and methods. Generated from openapi.yaml by api/sdk/generate. Do not edit."""`)
	w.line("\nfrom __future__ import annotations\n")
	w.line("from typing import Any, Iterator, Literal, NotRequired, TypedDict, Unpack\n")
	w.line("from .transport import APIError, CallOptions, Decimal, File, Object, Transport, error_class, path\n")
	for _, code := range s.codes {
		w.line("\n@error_class(%q)\nclass %s(APIError):", code, pyErrorName(code))
		w.line(`    """The code %s."""`+"\n", code)
	}
	for _, n := range s.types {
		switch {
		case n.values != nil:
			w.values(n)
		case n.sent:
			w.dictionary(n)
		default:
			w.object(n)
		}
	}
	w.line("\nclass Operations(Transport):\n    \"\"\"A method for each operation.\"\"\"")
	for _, op := range s.operations {
		w.operation(op)
	}
	return w.Bytes(), nil
}

func pyErrorName(code string) string {
	name := pascal(strings.ToLower(code))
	if strings.HasSuffix(name, "Error") {
		return name
	}
	return name + "Error"
}

func (w *pyWriter) values(n *named) {
	values := make([]string, len(n.values))
	for i, value := range n.values {
		values[i] = strconv.Quote(value)
	}
	if n.doc != "" {
		for _, line := range wrap(n.doc, 100) {
			w.line("# %s", line)
		}
	}
	w.line("# A later release can add values.\n%s = Literal[%s] | str\n", n.name, strings.Join(values, ", "))
}

// dictionary writes the type of an object of a request.
func (w *pyWriter) dictionary(n *named) {
	types := make([]string, len(n.fields))
	for i, f := range n.fields {
		types[i] = w.sentType(f.of)
		if f.nullable {
			types[i] += " | None"
		}
		if !f.required {
			types[i] = "NotRequired[" + types[i] + "]"
		}
	}
	if slices.ContainsFunc(n.fields, func(f field) bool { return pyName(f.name) != f.name }) {
		// The syntax of classes does not allow the names.
		w.line("%s = TypedDict(%q, {", n.name, n.name)
		for i, f := range n.fields {
			w.line("    %q: %q,", f.name, types[i])
		}
		w.line("})\n")
		return
	}
	w.line("\nclass %s(TypedDict):", n.name)
	w.doc("    ", orName(n))
	for i, f := range n.fields {
		w.line("    %s: %s", f.name, types[i])
		if f.doc != "" {
			w.doc("    ", f.doc)
		}
	}
	w.line("")
}

func orName(n *named) string {
	if n.doc == "" {
		return n.name + "."
	}
	return n.doc
}

// object writes the class of an object of a response.
func (w *pyWriter) object(n *named) {
	w.line("\nclass %s(Object):", pyTypeName(n.name))
	w.doc("    ", orName(n))
	var types []string
	for _, f := range n.fields {
		kind, value := w.returnedType(f.of), ""
		if f.nullable || !f.required {
			kind += " | None"
		}
		if !f.required {
			value = " = None"
		}
		w.line("    %s: %s%s", pyName(f.name), kind, value)
		if f.doc != "" {
			w.doc("    ", f.doc)
		}
		if class := w.class(f.of); class != "" {
			types = append(types, fmt.Sprintf("%q: %q", f.name, class))
		}
	}
	if len(types) > 0 {
		w.line("    _classes = {%s}", strings.Join(types, ", "))
	}
	w.line("")
}

// class returns the class of the objects in a field, with {} for a dictionary of them.
func (w *pyWriter) class(r ref) string {
	switch {
	case r.kind == list:
		return w.class(*r.of)
	case r.kind == dictionary && w.class(*r.of) != "":
		return "{}" + w.class(*r.of)
	case r.kind == typed && w.byName[r.name].values == nil && !w.byName[r.name].sent:
		return pyTypeName(r.name)
	}
	return ""
}

func pyTypeName(name string) string {
	if name == "Error" {
		return "ErrorBody"
	}
	return name
}

func pyName(name string) string {
	keywords := []string{"from", "in", "is", "class", "def", "not", "and", "or", "if", "else", "for", "while", "with", "as", "import", "global", "pass", "return"}
	switch {
	case slices.Contains(keywords, name):
		return name + "_"
	case name[0] >= '0' && name[0] <= '9':
		return "width_" + name
	}
	return name
}

func (w *pyWriter) sentType(r ref) string {
	switch r.kind {
	case money:
		return "str | Decimal | int"
	case scalar:
		return "str | int"
	case list:
		return "list[" + w.sentType(*r.of) + "]"
	case dictionary:
		return "dict[str, " + w.sentType(*r.of) + "]"
	}
	return w.returnedType(r)
}

func (w *pyWriter) returnedType(r ref) string {
	switch r.kind {
	case text, money, moment:
		return "str"
	case scalar:
		return "str | int"
	case integer:
		return "int"
	case boolean:
		return "bool"
	case anyObject:
		return "dict[str, Any]"
	case anything:
		return "Any"
	case list:
		return "list[" + w.returnedType(*r.of) + "]"
	case dictionary:
		return "dict[str, " + w.returnedType(*r.of) + "]"
	}
	return pyTypeName(r.name)
}

func (w *pyWriter) operation(op *operation) {
	name := snake(op.id)
	arguments, passed := []string{"self"}, []string{}
	address := strconv.Quote(op.path)
	if len(op.parameters) > 0 {
		for _, f := range op.parameters {
			argument := pyName(f.name)
			arguments = append(arguments, argument+": "+w.returnedType(f.of))
			passed = append(passed, argument)
		}
		address = "path(" + strings.Join(append([]string{address}, passed...), ", ") + ")"
	}
	settings := []string{}
	if op.body != nil {
		kind := w.sentType(*op.body)
		if !op.bodyRequired {
			kind += " | None = None"
		}
		arguments, passed = append(arguments, "body: "+kind), append(passed, "body")
		settings = append(settings, "body=body")
	}
	var query, named []string
	if len(op.query) > 0 {
		arguments = append(arguments, "*")
	}
	for _, f := range op.query {
		argument := pyName(f.name)
		kind := w.returnedType(f.of)
		arguments = append(arguments, argument+": "+kind+" | None = None")
		query = append(query, fmt.Sprintf("%q: %s", f.name, argument))
		named = append(named, argument+"="+argument)
	}
	if key, value, has := strings.Cut(op.fixed, "="); has {
		query = append(query, fmt.Sprintf("%q: %q", key, value))
	}
	if len(query) > 0 {
		settings = append(settings, "query={"+strings.Join(query, ", ")+"}")
	}
	if op.repeatable {
		settings = append(settings, "repeatable=True")
	}
	if op.keyed {
		settings = append(settings, "keyed=True")
	}
	arguments = append(arguments, "**options: Unpack[CallOptions]")
	send, returned := "self._send_for_body", w.returnedType(op.of)
	class := w.class(op.of)
	switch op.result {
	case nothing:
		send, returned, class = "self._send", "None", ""
	case data:
		send = "self._send_for_data"
	case file:
		send, returned, class = "self._send_for_file", "File", ""
	}
	call := []string{strconv.Quote(op.method), address}
	if class != "" {
		call = append([]string{class}, call...)
	}
	call = append(call, settings...)
	w.line("\n    def %s(%s) -> %s:", name, strings.Join(arguments, ", "), returned)
	w.doc("        ", op.doc)
	w.line("        return %s(%s, **options)", send, strings.Join(call, ", "))
	if op.pages == "" {
		return
	}
	w.line("\n    def %s(%s) -> Iterator[%s]:", snake(op.iterator()), strings.Join(arguments, ", "), w.returnedType(op.element))
	w.doc("        ", "All elements of "+name+". The next page is requested when it is needed.")
	named = slices.DeleteFunc(named, func(argument string) bool { return argument == op.pages+"="+op.pages })
	w.line("        return self._pages(%q, %s, lambda **at: self.%s(%s))", op.pages, op.pages, name,
		strings.Join(append(append(passed, named...), "**at", "**options"), ", "))
}
