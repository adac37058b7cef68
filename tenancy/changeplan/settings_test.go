package changeplan

import (
	"testing"

	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

func TestATenantHasTheSettingsOfTheLastHeaders(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	tenant, other := d.MustTenant(t, "acme").ID, d.MustTenant(t, "other").ID
	var headers []Header
	remember := func(header Header, text string) {
		t.Helper()
		settings := map[Header][]byte{header: []byte(text)}
		if text == "" {
			settings[header] = nil
		}
		if err := RememberSettings(t.Context(), d.DB, tenant, settings); err != nil {
			t.Fatal(err)
		}
	}
	want := func(n int, first string) {
		t.Helper()
		found, err := RememberedSettings(t.Context(), d.DB, tenant, headers)
		if err != nil || len(found) != n || string(found[headers[0]]) != first {
			t.Errorf("found %d with %q first, %v, want %d with %q", len(found), found[headers[0]], err, n, first)
		}
		if found, err := RememberedSettings(t.Context(), d.DB, other, headers); err != nil || len(found) > 0 {
			t.Errorf("another tenant has %d, %v", len(found), err)
		}
	}
	for i := range maxSettings {
		headers = append(headers, Header{byte(i)})
		remember(headers[i], `{}`)
	}
	want(maxSettings, `{}`)
	remember(headers[0], `{"a": 1}`) // the first is now the last
	headers = append(headers, Header{200})
	remember(Header{200}, `{}`)
	want(maxSettings, `{"a": 1}`)
	if found, err := RememberedSettings(t.Context(), d.DB, tenant, headers[1:2]); err != nil || len(found) > 0 {
		t.Errorf("the oldest is still there, %v", err)
	}
	forget := func(text string) {
		t.Helper()
		if err := ForgetSettings(t.Context(), d.DB, tenant, map[Header][]byte{headers[0]: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	forget(`{"a": 2}`)
	want(maxSettings, `{"a": 1}`)
	forget(`{"a":1}`)
	want(maxSettings-1, "")
	remember(headers[2], "")
	want(maxSettings-2, "")
}
