package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

type tsWriter struct {
	*sdk
	bytes.Buffer
}

func (w *tsWriter) line(format string, arguments ...any) { fmt.Fprintf(w, format+"\n", arguments...) }

func (w *tsWriter) comment(indent, text string) {
	if text == "" {
		return
	}
	lines := wrap(strings.ReplaceAll(text, "*/", "* /"), 110)
	if len(lines) == 1 {
		w.line("%s/** %s */", indent, lines[0])
		return
	}
	w.line("%s/**", indent)
	for _, line := range lines {
		w.line("%s", strings.TrimRight(indent+" * "+line, " "))
	}
	w.line("%s */", indent)
}

func writeTypeScript(s *sdk) ([]byte, error) {
	w := &tsWriter{sdk: s}
	w.line("// Generated from openapi.yaml by api/sdk/generate. Do not edit.\n")
	w.line("import { Transport, path, type CallOptions, type FileDownload } from \"./transport.js\";\n")
	for _, n := range s.types {
		w.named(n)
	}
	for _, op := range s.operations {
		if len(op.query) > 0 {
			w.line("export interface %sParams {", pascal(op.id))
			for _, f := range op.query {
				w.comment("  ", f.doc)
				w.line("  %s?: %s | undefined;", f.name, w.ref(f.of))
			}
			w.line("}\n")
		}
	}
	w.line("/** A method for each operation. */\nexport class Operations extends Transport {")
	for _, op := range s.operations {
		w.operation(op)
	}
	w.line("}")
	return w.Bytes(), nil
}

func (w *tsWriter) named(n *named) {
	w.comment("", n.doc)
	name := tsTypeName(n.name)
	if n.values != nil {
		values := make([]string, len(n.values))
		for i, value := range n.values {
			values[i] = strconv.Quote(value)
		}
		w.line("export type %s = %s | (string & {});\n", name, strings.Join(values, " | "))
		return
	}
	w.line("export interface %s {", name)
	for _, f := range n.fields {
		w.comment("  ", f.doc)
		kind, optional := w.ref(f.of), ""
		if f.nullable {
			kind += " | null"
		}
		if !f.required {
			optional = "?"
			if n.sent {
				kind += " | undefined"
			}
		}
		name := f.name
		if name[0] >= '0' && name[0] <= '9' {
			name = strconv.Quote(name)
		}
		w.line("  %s%s: %s;", name, optional, kind)
	}
	w.line("}\n")
}

// tsTypeName avoids the names of classes of the language.
func tsTypeName(name string) string {
	if name == "Error" {
		return "ErrorBody"
	}
	return name
}

func (w *tsWriter) ref(r ref) string {
	switch r.kind {
	case text, money, moment:
		return "string"
	case scalar:
		return "string | number"
	case integer:
		return "number"
	case boolean:
		return "boolean"
	case anyObject:
		return "Record<string, unknown>"
	case anything:
		return "unknown"
	case list:
		return "Array<" + w.ref(*r.of) + ">"
	case dictionary:
		return "Record<string, " + w.ref(*r.of) + ">"
	}
	return tsTypeName(r.name)
}

func (w *tsWriter) operation(op *operation) {
	w.line("")
	w.comment("  ", strings.Replace(op.doc, "Deprecated: ", "@deprecated ", 1))
	var arguments, passed []string
	argument := func(name, kind, option string) {
		arguments = append(arguments, name+option+": "+kind)
		passed = append(passed, name)
	}
	address := strconv.Quote(op.path)
	if len(op.parameters) > 0 {
		address = "path`" + op.path + "`"
	}
	for _, f := range op.parameters {
		name := camel(f.name)
		argument(name, w.ref(f.of), "")
		address = strings.Replace(address, "{"+f.name+"}", "${"+name+"}", 1)
	}
	settings := []string{}
	if op.body != nil {
		option := ""
		if !op.bodyRequired {
			option = "?"
		}
		argument("body", w.ref(*op.body), option)
		settings = append(settings, "body")
	}
	if len(op.query) > 0 {
		arguments = append(arguments, "params: "+pascal(op.id)+"Params = {}")
		passed = append(passed, "params")
		settings = append(settings, "query: { ...params }")
	} else if name, value, has := strings.Cut(op.fixed, "="); has {
		settings = append(settings, fmt.Sprintf("query: { %s: %q }", name, value))
	}
	if op.repeatable {
		settings = append(settings, "repeatable: true")
	}
	if op.keyed {
		settings = append(settings, "keyed: true")
	}
	arguments = append(arguments, "options?: CallOptions")
	request := "{ " + strings.Join(settings, ", ") + " }"
	send, returned := "this.sendForBody", w.ref(op.of)
	switch op.result {
	case nothing:
		send, returned = "this.send", "void"
	case data:
		send = "this.sendForData"
	case file:
		send, returned = "this.sendForFile", "FileDownload"
	}
	w.line("  %s(%s): Promise<%s> {\n    return %s(%q, %s, %s, options);\n  }", op.id, strings.Join(arguments, ", "), returned, send, op.method, address, request)
	if op.pages == "" {
		return
	}
	w.line("\n  /** All elements of {@link Operations.%s}. The next page is requested when it is needed. */", op.id)
	call := strings.Replace(strings.Join(append(passed, "options"), ", "), "params", "{ ...params, "+op.pages+" }", 1)
	w.line("  %s(%s): AsyncGenerator<%s, void, undefined> {", op.iterator(), strings.Join(arguments, ", "), w.ref(op.element))
	w.line("    return this.pages(%q, params.%s, (%s) => this.%s(%s));\n  }", op.pages, op.pages, op.pages, op.id, call)
}

func camel(name string) string {
	all := words(name)
	for i := range all[1:] {
		all[i+1] = strings.ToUpper(all[i+1][:1]) + all[i+1][1:]
	}
	return strings.Join(all, "")
}
