package main

import (
	"bytes"
	"fmt"
	"go/format"
	"strings"
)

type goWriter struct {
	*sdk
	bytes.Buffer
}

func (w *goWriter) line(format string, arguments ...any) { fmt.Fprintf(w, format+"\n", arguments...) }

// comment writes a comment, which begins with the name if there is one.
func (w *goWriter) comment(name, text string) {
	switch {
	case name != "" && text == "":
		text = name + " is described by its fields."
	case name != "":
		text = name + ": " + text
	}
	if text == "" {
		return
	}
	for _, line := range wrap(text, 110) {
		w.line("// %s", line)
	}
}

func writeGo(s *sdk) ([]byte, error) {
	w := &goWriter{sdk: s}
	w.line("// Code generated from openapi.yaml by api/sdk/generate. DO NOT EDIT.\n\npackage storeroom\n")
	w.line("import (\n\"context\"\n\"iter\"\n\"net/url\"\n)\n")
	w.codes()
	for _, n := range s.types {
		w.named(n)
	}
	for _, op := range s.operations {
		w.operation(op)
	}
	formatted, err := format.Source(w.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%w in\n%s", err, w.Bytes())
	}
	return formatted, nil
}

func (w *goWriter) codes() {
	w.line("// The codes of errors. A later release can add some.\nconst (")
	for _, code := range w.sdk.codes {
		w.line("%s ErrorCode = %q", "Err"+pascal(strings.ToLower(code)), code)
	}
	w.line(")\n")
}

func (w *goWriter) named(n *named) {
	switch {
	case n.name == "ErrorCode":
		return // written by hand, because it is an error
	case n.values != nil:
		w.comment(n.name, n.doc)
		w.line("type %s string\n\n// The values of %s. A later release can add some.\nconst (", n.name, n.name)
		for _, value := range n.values {
			w.line("%s %s = %q", n.name+goValueName(value), n.name, value)
		}
		w.line(")\n")
		return
	}
	name := goTypeName(n.name)
	w.comment(name, n.doc)
	w.line("type %s struct {", name)
	for _, f := range n.fields {
		w.comment("", f.doc)
		kind, option := w.field(n, f)
		w.line("%s %s `json:\"%s%s\"`", goFieldName(f.name), kind, f.name, option)
	}
	w.line("}\n")
}

func goValueName(value string) string {
	switch value {
	case ",":
		return "Comma"
	case ".":
		return "Point"
	}
	return pascal(strings.NewReplacer(".", "_", ":", "_").Replace(value))
}

// goTypeName avoids the name of the type of errors.
func goTypeName(name string) string {
	if name == "Error" {
		return "errorBody"
	}
	return name
}

func goFieldName(name string) string {
	if name[0] >= '0' && name[0] <= '9' {
		return "Width" + name
	}
	return pascal(name)
}

// field returns the type of a field and the option of its tag.
func (w *goWriter) field(n *named, f field) (kind, option string) {
	kind = w.ref(f.of)
	isObject := f.of.kind == typed && w.byName[f.of.name].values == nil
	noPointer := f.of.kind == list || f.of.kind == dictionary || f.of.kind == anyObject || f.of.kind == anything
	if !n.sent {
		if noPointer || f.required && !f.nullable {
			return kind, ""
		}
		return "*" + kind, ""
	}
	switch {
	case f.required && !f.nullable:
		return kind, ""
	case isObject:
		return "*" + kind, ",omitempty"
	case f.nullable && f.of.kind == dictionary, !noPointer:
		return "Optional[" + kind + "]", ",omitzero"
	}
	return kind, ",omitzero"
}

func (w *goWriter) ref(r ref) string {
	switch r.kind {
	case text:
		return "string"
	case moment:
		return "Time"
	case money:
		return "Decimal"
	case scalar:
		return "Scalar"
	case integer:
		return "int64"
	case boolean:
		return "bool"
	case anyObject, anything:
		return "Raw"
	case list:
		return "[]" + w.ref(*r.of)
	case dictionary:
		return "map[string]" + w.ref(*r.of)
	}
	return goTypeName(r.name)
}

func (w *goWriter) operation(op *operation) {
	name := pascal(op.id)
	if len(op.query) > 0 {
		w.line("// %sParams are the parameters of %s. A zero value is not sent.", name, name)
		w.line("type %sParams struct {", name)
		for _, f := range op.query {
			w.comment("", f.doc)
			w.line("%s %s", pascal(f.name), w.parameter(f))
		}
		w.line("}\n\nfunc (p %sParams) values() url.Values {\nv := url.Values{}", name)
		for _, f := range op.query {
			w.line("addParameter(v, %q, p.%s)", f.name, pascal(f.name))
		}
		w.line("return v\n}\n")
	}
	arguments := []string{"ctx context.Context"}
	path, values := fmt.Sprintf("%q", op.path), []string{}
	for _, f := range op.parameters {
		argument := goArgument(f.name)
		arguments = append(arguments, argument+" "+w.ref(f.of))
		values = append(values, argument)
		path = strings.Replace(path, "{"+f.name+"}", "%s", 1)
	}
	if len(values) > 0 {
		path = "makePath(" + path + ", " + strings.Join(values, ", ") + ")"
	}
	call := []string{fmt.Sprintf("method: %q, path: %s", op.method, path)}
	if op.body != nil {
		arguments = append(arguments, "body "+w.body(op))
		call = append(call, "body: body")
	}
	if len(op.query) > 0 {
		arguments = append(arguments, "params "+name+"Params")
		call = append(call, "query: params.values()")
	} else if key, value, has := strings.Cut(op.fixed, "="); has {
		call = append(call, fmt.Sprintf("query: url.Values{%q: {%q}}", key, value))
	}
	if op.repeatable {
		call = append(call, "repeatable: true")
	}
	if op.keyed {
		call = append(call, "keyed: true")
	}
	w.comment("", name+": "+op.doc)
	signature := fmt.Sprintf("func (c *Client) %s(%s, options ...RequestOption)", name, strings.Join(arguments, ", "))
	request := "request{" + strings.Join(call, ", ") + "}"
	switch op.result {
	case nothing:
		w.line("%s error {\nreturn c.send(ctx, %s, nil, options)\n}\n", signature, request)
	case data:
		w.line("%s (%s, error) {\nreturn sendForData[%s](ctx, c, %s, options)\n}\n", signature, w.returned(op.of), w.returned(op.of), request)
	case whole:
		w.line("%s (%s, error) {\nreturn sendForBody[%s](ctx, c, %s, options)\n}\n", signature, w.returned(op.of), w.returned(op.of), request)
	case file:
		w.line("%s (*File, error) {\nreturn c.sendForFile(ctx, %s, options)\n}\n", signature, request)
	}
	if op.pages != "" {
		w.iterator(op, name, arguments)
	}
}

func (w *goWriter) returned(r ref) string {
	if r.kind == typed {
		return "*" + w.ref(r)
	}
	return w.ref(r)
}

func (w *goWriter) body(op *operation) string {
	if op.bodyRequired {
		return w.ref(*op.body)
	}
	return "*" + w.ref(*op.body)
}

// parameter returns the type of a parameter of a query. A cursor can be empty.
func (w *goWriter) parameter(f field) string {
	if f.name == "cursor" {
		return "*string"
	}
	return w.ref(f.of)
}

func goArgument(name string) string {
	if name == "type" {
		return "kind"
	}
	argument := pascal(name)
	if argument == strings.ToUpper(argument) {
		return strings.ToLower(argument)
	}
	return strings.ToLower(argument[:1]) + argument[1:]
}

func (w *goWriter) iterator(op *operation, name string, arguments []string) {
	iterator := pascal(op.iterator())
	passed := make([]string, len(arguments))
	for i, argument := range arguments {
		passed[i], _, _ = strings.Cut(argument, " ")
	}
	w.line("// %s returns all elements of %s, and requests the next page when it is needed. It stops after an error.", iterator, name)
	w.line("func (c *Client) %s(%s, options ...RequestOption) iter.Seq2[*%s, error] {", iterator, strings.Join(arguments, ", "), w.ref(op.element))
	var next string
	switch op.pages {
	case "cursor":
		w.line("if params.Cursor == nil {\nparams.Cursor = new(string)\n}")
		next = "params.Cursor = page.Meta.NextCursor\nreturn page.Data, params.Cursor != nil, nil"
	case "page":
		w.line("params.Page = max(params.Page, 1)")
		next = "params.Page++\nreturn page.Data, page.Meta.HasNext, nil"
	case "after":
		next = "params.After = page.Meta.NextCursor\nreturn page.Data, page.Meta.HasMore, nil"
	case "before":
		next = "more := page.Meta.NextBefore != nil\nif more {\nparams.Before = parseID(*page.Meta.NextBefore)\n}\nreturn page.Data, more, nil"
	}
	w.line("return func(yield func(*%s, error) bool) {\nparams := params // each loop begins again", w.ref(op.element))
	w.line("yieldPages(yield, func() ([]%s, bool, error) {\npage, err := c.%s(%s, options...)", w.ref(op.element), name, strings.Join(passed, ", "))
	w.line("if err != nil {\nreturn nil, false, err\n}\n%s\n})\n}\n}\n", next)
}
