package api

import (
	"strings"
	"testing"
)

func TestChannelLifecycle(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	made := a.try(t, call{
		method: "POST", path: "/api/channels", body: `{"identifier":"web-2_x","label":"  Zoë's shop "}`, wantStatus: 201,
		want: []string{`"data":{"identifier":"web-2_x","label":"Zoë's shop","created_at":"`},
	})
	const one = "/api/channels/web-2_x"
	if made.Header.Get("Location") != one {
		t.Errorf("Location = %q", made.Header.Get("Location"))
	}
	invalid := func(name, method, path, body string, want ...string) call {
		return call{
			name: name, method: method, path: path, body: body, wantStatus: 422, wantCode: ValidationError, want: want,
		}
	}
	a.tryAll(t, []call{
		{name: "show", path: one, wantStatus: 200, want: []string{`"label":"Zoë's shop"`}},
		invalid(
			"taken", "POST", "/api/channels", `{"identifier":"web-2_x","label":"Other"}`,
			`"details":{"identifier":["is already taken"]}`,
		),
		invalid(
			"taken by what every tenant has", "POST", "/api/channels", `{"identifier":"pos","label":"Till"}`,
			`"identifier":["is already taken"]`,
		),
		invalid("nothing", "POST", "/api/channels", `{}`, `"details":{"identifier":["is required"],"label":["is required"]}`),
		invalid(
			"nulls", "POST", "/api/channels", `{"identifier":null,"label":null}`,
			`"details":{"identifier":["is required"],"label":["is required"]}`,
		),
		invalid(
			"all fields are invalid", "POST", "/api/channels", `{"identifier":"Web","label":7,"id":1}`,
			`"details":{"id":["is not a known field"],"identifier":["must be 1 to 50 lower-case letters, digits, dashes and underscores"],"label":["must be a string"]}`,
		),
		invalid(
			"an identifier too long", "POST", "/api/channels", `{"identifier":"`+strings.Repeat("x", 51)+`","label":"L"}`,
			`"identifier":["must be`,
		),
		invalid("an empty identifier", "POST", "/api/channels", `{"identifier":"","label":"L"}`, `"identifier":["must be`),
		invalid("a blank in it", "POST", "/api/channels", `{"identifier":" web","label":"L"}`, `"identifier":["must be`),
		invalid(
			"a line break at its end", "POST", "/api/channels", `{"identifier":"web\n","label":"L"}`, `"identifier":["must be`,
		),
		invalid("an empty label", "PATCH", one, `{"label":" "}`, `"label":["must not be empty"]`),
		invalid("no label", "PATCH", one, `{"label":null}`, `"label":["must not be null"]`),
		invalid(
			"a label too long", "PATCH", one, `{"label":"`+strings.Repeat("ü", 256)+`"}`, `"label":["must have at most 255`,
		),
		invalid(
			"another identifier", "PATCH", one, `{"identifier":"web","label":"L"}`,
			`"details":{"identifier":["cannot be changed"]}`,
		),
		invalid("no identifier", "PATCH", one, `{"identifier":null}`, `"identifier":["cannot be changed"]`),
		invalid(
			"an identifier of the wrong type", "PATCH", one, `{"identifier":7}`, `"details":{"identifier":["must be a string"]}`,
		),
		{
			name: "change the label", method: "PATCH", path: one,
			body: `{"identifier":"web-2_x","label":"Shop","created_at":"x","updated_at":null}`, wantStatus: 200,
			want: []string{`"label":"Shop"`},
		},
		{name: "an empty change", method: "PATCH", path: one, body: `{}`, wantStatus: 200, want: []string{`"label":"Shop"`}},
		{
			name: "the label of pos can change", method: "PATCH", path: "/api/channels/pos", body: `{"label":"Counter"}`,
			wantStatus: 200, want: []string{`"identifier":"pos","label":"Counter"`},
		},
		{
			name: "pos cannot be deleted", method: "DELETE", path: "/api/channels/pos", wantStatus: 409, wantCode: ResourceInUse,
			want: []string{`"message":"The channel pos cannot be deleted."`},
		},
		{name: "PUT is not supported", method: "PUT", path: one, body: `{}`, wantStatus: 405, wantCode: MethodNotAllowed},
		{name: "delete", method: "DELETE", path: one, wantStatus: 204},
		{name: "delete again", method: "DELETE", path: one, wantStatus: 404, wantCode: NotFound},
		{name: "show an unknown channel", path: one, wantStatus: 404, wantCode: NotFound},
		{name: "change the label of an unknown channel", method: "PATCH", path: one, body: `{"label":"x"}`, wantStatus: 404, wantCode: NotFound},
		{
			name: "malformed", path: "/api/channels/Web", wantStatus: 400, wantCode: InvalidParameter,
			want: []string{`"details":{"identifier":["must be 1 to 50 lower-case`},
		},
		{
			name: "not UTF-8", method: "DELETE", path: "/api/channels/%ff?x=1", wantStatus: 400, wantCode: InvalidParameter,
			want: []string{`"details":{"identifier":["must be percent-encoded UTF-8 without NUL"],"x":["is not a known parameter"]}`},
		},
		{name: "percent-encoded", path: "/api/channels/%70os", wantStatus: 200, want: []string{`"identifier":"pos"`}},
	})
}

func TestOrderCreatesItsChannel(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustOrder(t, order("1"))
	a.tryAll(t, []call{
		{name: "the identifier is the default label", path: "/api/channels/web", wantStatus: 200, want: []string{`"label":"web"`}},
		{
			name: "in use", method: "DELETE", path: "/api/channels/web", wantStatus: 409, wantCode: ResourceInUse,
			want: []string{`"message":"1 order uses this channel."`},
		},
		{name: "in use by a cancelled order", method: "POST", path: "/api/orders/1/cancel", wantStatus: 200},
		{name: "still in use", method: "DELETE", path: "/api/channels/web", wantStatus: 409, wantCode: ResourceInUse},
		{name: "change the label", method: "PATCH", path: "/api/channels/web", body: `{"label":"Web shop"}`, wantStatus: 200},
		{name: "the next order", method: "POST", path: "/api/orders", body: order("2"), wantStatus: 201},
		{name: "an order keeps the label", path: "/api/channels/web", wantStatus: 200, want: []string{`"label":"Web shop"`}},
	})
}

func TestChannelsAreListedByIdentifier(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, identifier := range []string{"web", "a_1", "a-1"} {
		a.try(t, call{
			method: "POST", path: "/api/channels", body: `{"identifier":"` + identifier + `","label":"L"}`, wantStatus: 201,
		})
	}
	for query, want := range map[string]string{
		"": "a-1,a_1,pos,web", "per_page=3": "a-1,a_1,pos", "per_page=3&page=2": "web", "page=9": "",
	} {
		got := a.try(t, call{path: "/api/channels?" + query, wantStatus: 200, want: []string{`"total":4,`}})
		var identifiers []string
		for _, c := range mustDecode[struct{ Data []channelName }](t, got.body).Data {
			identifiers = append(identifiers, c.Identifier)
		}
		if strings.Join(identifiers, ",") != want {
			t.Errorf("?%s = %v, want %s", query, identifiers, want)
		}
	}
	a.try(t, call{
		path: "/api/channels?sort=label", wantStatus: 400, wantCode: InvalidParameter,
		want: []string{`"sort":["is not a known parameter"]`},
	})
}

type channelName struct{ Identifier string }
