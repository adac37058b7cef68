package api

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

func TestParseInteger(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		literal string
		want    int64
		wantErr error
	}{
		{"5", 5, nil}, {"-5", -5, nil}, {"0", 0, nil}, {"-0", 0, nil}, {"5.0", 5, nil}, {"1e2", 100, nil}, {"1.5e1", 15, nil},
		{"-2E+1", -20, nil},
		{
			"9223372036854775807", math.MaxInt64, nil,
		}, {"-9223372036854775808", math.MinInt64, nil}, {"9223372036854775807.0", math.MaxInt64, nil},
		{"9223372036854775808", 0, errIntegerRange}, {
			"-9223372036854775809", 0, errIntegerRange,
		}, {"1e30", 0, errIntegerRange}, {"1e999999999", 0, errIntegerRange},
		{strings.Repeat("9", 500), 0, errIntegerRange},
		{"5.5", 0, errNotInteger}, {"1e-1", 0, errNotInteger}, {`"5"`, 0, errNotInteger}, {"true", 0, errNotInteger},
		{"[5]", 0, errNotInteger},
	} {
		if got, err := parseInteger(json.RawMessage(c.literal)); got != c.want || err != c.wantErr {
			t.Errorf("parseInteger(%.40s) = %d, %v, want %d, %v", c.literal, got, err, c.want, c.wantErr)
		}
	}
}

func TestNamesAreComparedExactly(t *testing.T) {
	t.Parallel()
	padded := func(length int) string { return "sku" + strings.Repeat(" ", length-len("sku")) }
	escaped := strings.Repeat(`\u00e4\\`, 1000)
	for _, c := range []struct{ body, want, wantErr string }{
		{`{"` + padded(300) + `":"A"}`, padded(maxName), ""},
		{`{"` + padded(maxJSONName) + `":"A"}`, padded(maxName), ""},
		{`{"` + padded(maxJSONName+1) + `":"A"}`, padded(maxName), ""},
		{`{"` + padded(1<<20) + `":"A"}`, padded(maxName), ""},
		{`{"` + escaped + `":"A"}`, strings.Repeat(`ä\`, maxName)[:maxName], ""},
		{`{"` + strings.Repeat("€", 1000) + `":"A"}`, strings.Repeat("€", maxName/3), ""},
		{`{"` + padded(3000) + `":"A","` + padded(3001) + `":"B"}`, padded(maxName), ""},
		{`{"` + padded(3000) + `":"A","` + padded(3000) + `":"B"}`, "", "duplicate field " + padded(maxName)},
	} {
		errs := tenancy.InvalidError{}
		o, err := parseObject([]byte(c.body), "", errs)
		if err != nil {
			if err.Error() != c.wantErr {
				t.Errorf("%.20s… of %d bytes: %v, want %q", c.body, len(c.body), err, c.wantErr)
			}
			continue
		}
		sku := o.text("sku")
		for name := range o.fields {
			if len(name) > 2*maxJSONName {
				t.Errorf("%.20s… of %d bytes takes %d bytes of memory", c.body, len(c.body), len(name))
			}
		}
		o.rejectUnknown()
		if len(errs) != 1 || errs[c.want] == nil || c.wantErr != "" || sku.Set {
			t.Errorf("%.20s… of %d bytes: sku %v and errors %.300v, want one of %q", c.body, len(c.body), sku, errs, c.want)
		}
	}
}

func TestParseText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ literal, want, wantErr string }{
		{
			`"a\u00fc\ud83d\ude00<b>&"`, "aü😀<b>&", "",
		}, {`"\\ud800"`, `\ud800`, ""}, {`"\\\\ud800"`, `\\ud800`, ""}, {`"\ufffd"`, "\uFFFD", ""},
		{
			`"\ud800"`, "", "must not contain half of a surrogate pair",
		}, {`"\udc00"`, "", "must not contain half of a surrogate pair"},
		{
			`"\ud800\u0041"`, "", "must not contain half of a surrogate pair",
		}, {`"\\\ud800x"`, "", "must not contain half of a surrogate pair"},
		{`"\ud83d\ude00\ude00"`, "", "must not contain half of a surrogate pair"},
		{`"a\u0000b"`, "a\x00b", "must not contain NUL characters"},
		{`5`, "", "must be a string"}, {`null`, "", "must be a string"}, {`{}`, "", "must be a string"},
	} {
		got, err := parseText(json.RawMessage(c.literal))
		if got != c.want || errorText(err) != c.wantErr {
			t.Errorf("parseText(%s) = %q, %v, want %q, %q", c.literal, got, err, c.want, c.wantErr)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestReferenceFields(t *testing.T) {
	t.Parallel()
	type field = catalog.Field[int64]
	for _, c := range []struct {
		name, body string
		want       field
		problems   tenancy.InvalidError
	}{
		{"neither", `{}`, field{}, nil},
		{"the id", `{"seller_id":5}`, catalog.Value(int64(5)), nil},
		{"the object", `{"seller":{"id":5,"name":"x"}}`, catalog.Value(int64(5)), nil},
		{"both have the same id", `{"seller_id":5,"seller":{"id":5}}`, catalog.Value(int64(5)), nil},
		{"both null", `{"seller_id":null,"seller":null}`, field{Set: true, Null: true}, nil},
		{"a null object", `{"seller":null}`, field{Set: true, Null: true}, nil},
		{
			"the id and an object without one", `{"seller_id":5,"seller":{"name":"x"}}`, catalog.Value(int64(5)),
			tenancy.InvalidError{"seller.id": {"is required"}},
		},
		{
			"both differ", `{"seller_id":5,"seller":{"id":6}}`, catalog.Value(int64(5)),
			tenancy.InvalidError{"seller_id": {"must equal seller.id"}},
		},
		{
			"null and an object", `{"seller_id":null,"seller":{"id":6}}`, field{Set: true, Null: true},
			tenancy.InvalidError{"seller_id": {"must equal seller.id"}},
		},
		{"an object without an id", `{"seller":{"name":"x"}}`, field{}, tenancy.InvalidError{"seller.id": {"is required"}}},
		{
			"an id of the wrong type", `{"seller":{"id":"5"}}`, field{},
			tenancy.InvalidError{"seller.id": {"must be an integer"}},
		},
		{"a null id", `{"seller":{"id":null}}`, field{}, tenancy.InvalidError{"seller.id": {"is required"}}},
		{
			"the id and a null id", `{"seller_id":5,"seller":{"id":null}}`, catalog.Value(int64(5)),
			tenancy.InvalidError{"seller.id": {"is required"}},
		},
		{"no object", `{"seller":"x"}`, field{}, tenancy.InvalidError{"seller": {"must be an object with an id"}}},
		{
			"a faulty id and an object", `{"seller_id":"5","seller":{"id":6}}`, field{},
			tenancy.InvalidError{"seller_id": {"must be an integer"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := parseObject([]byte(c.body), "", tenancy.InvalidError{})
			if err != nil {
				t.Fatal(err)
			}
			got := o.reference("seller")
			o.rejectUnknown()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.problems.Err(), o.errs.Err()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrorsOfNestedObjectsHaveTheirPath(t *testing.T) {
	t.Parallel()
	o, err := parseObject([]byte(`{"price":true,"odd":1}`), "items[3].", tenancy.InvalidError{})
	if err != nil {
		t.Fatal(err)
	}
	o.money("price")
	o.rejectUnknown()
	want := tenancy.InvalidError{"items[3].price": {money.ErrSyntax.Error()}, "items[3].odd": {"is not a known field"}}
	if diff := cmp.Diff(want, o.errs); diff != "" {
		t.Error(diff)
	}
}

func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":"b","n":5,"m":"1.50","l":["x",1],"r":{"id":1}}`, `{"n":1e400}`, `{"a":"\ud800"}`, `{"a":1,"a":2}`, `[]`,
		`{"l":[null]}`, ``,
		`{"n":-0.0,"m":1e-2}`, `{"m":"1e5"}`, `{"m":"-1"}`, `{"r":{"id":null}}`, `{"r":{"id":"1"},"r_id":1}`, `{"r":{"id":1,"id":2}}`, ` { "a\u0062" : [ "]\\\"" , {} , [ ] , -1.5E+2 , true ] } `,
		"{\"a\":\"\x00\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !utf8.Valid(raw) {
			return // parseBody returns an error
		}
		o, err := parseObject(raw, "", tenancy.InvalidError{})
		if err != nil {
			return
		}
		var plain map[string]any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if d.Decode(&plain) != nil || len(plain) != len(o.fields) {
			t.Fatalf("parseObject took what encoding/json reads as %v", plain)
		}
		for name, value := range o.fields {
			var read any
			d := json.NewDecoder(bytes.NewReader(value))
			d.UseNumber()
			if err := d.Decode(&read); err != nil || d.InputOffset() != int64(len(value)) || !cmp.Equal(read, plain[name]) {
				t.Errorf("%q = %s, want %v (%v)", name, value, plain[name], err)
			}
		}
		literal := string(o.fields["n"])
		a, n, l := o.text("a"), o.integer("n"), o.texts("l")
		m, r := o.money("m"), o.reference("r")
		o.rejectUnknown()
		if text, is := plain["m"].(string); is && m.Set && (strings.Trim(text, "0123456789.") != "" || strings.Count(text, ".") > 1) {
			t.Errorf("money(%q) = %v, want only digits and at most one point", text, m.Value)
		}
		if object, is := plain["r"].(map[string]any); is {
			id, _ := object["id"].(json.Number)
			if len(o.errs["r"])+len(o.errs["r.id"])+len(o.errs["r_id"]) == 0 && (id == "" || !r.Set || r.Null) {
				t.Errorf("reference(%v) = %v without an error", object, r)
			}
		}
		if a.Set && !a.Null && a.Value != plain["a"] {
			t.Errorf("text = %q, want %q", a.Value, plain["a"])
		}
		if exact, ok := new(big.Rat).SetString(literal); n.Set && !n.Null &&
			(!ok || exact.Cmp(new(big.Rat).SetInt64(n.Value)) != 0) {
			t.Errorf("integer(%s) = %d", literal, n.Value)
		}
		for _, text := range l.Value {
			if strings.ContainsRune(text, 0) {
				t.Errorf("texts let NUL pass: %q", text)
			}
		}
	})
}

func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"", "page=2&per_page=100", "page=%31", "a=1&a=2", "status=", "%zz=1", "search=%00", "page=99999999999999999999",
		";&=&==", "from=2026-02-30", "category=1&category_id=2",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.RawQuery = raw
		q := readQuery(r)
		pages, order := q.page(), q.order(catalog.ProductOrders)
		search, day := q.text("search"), q.date("from")
		if q.err() != nil {
			return
		}
		want, err := url.ParseQuery(raw)
		if err != nil && !strings.Contains(raw, ";") {
			t.Fatalf("readQuery took %q: %v", raw, err)
		}
		if pages.Number < 1 || pages.PerPage < 1 || pages.PerPage > maxPerPage {
			t.Errorf("pages(%q) = %v", raw, pages)
		}
		if order.By != "" && want.Get("sort") != order.By && err == nil {
			t.Errorf("order(%q) = %v", raw, order)
		}
		if strings.ContainsRune(search, 0) || !utf8.ValidString(search) || err == nil && search != want.Get("search") {
			t.Errorf("search(%q) = %q", raw, search)
		}
		if day != nil && (day.Year() < 1970 || day.Year() > 2200) {
			t.Errorf("day(%q) = %v", raw, day)
		}
	})
}
