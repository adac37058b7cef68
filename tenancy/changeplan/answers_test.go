package changeplan

import (
	"encoding/json"
	"testing"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

func TestATenantHasTheSettingsOfTheLastHeaders(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant, other := d.MustTenant(t, "acme").ID, d.MustTenant(t, "other").ID
	var headers []Header
	remember := func(header Header, settings json.RawMessage) {
		t.Helper()
		if err := Remember(t.Context(), d.DB, tenant, map[Header]json.RawMessage{header: settings}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(n int, first string) {
		t.Helper()
		found, err := Remembered(t.Context(), d.DB, tenant, headers)
		if err != nil || len(found) != n || string(found[headers[0]].Settings) != first {
			t.Errorf("found %d with %q first, %v, want %d with %q", len(found), found[headers[0]].Settings, err, n, first)
		}
		if found, err := Remembered(t.Context(), d.DB, other, headers); err != nil || len(found) > 0 {
			t.Errorf("another tenant has %d, %v", len(found), err)
		}
	}
	for i := range maxHeaders {
		headers = append(headers, Header{byte(i)})
		remember(headers[i], json.RawMessage(`["sku"]`))
	}
	want(maxHeaders, `["sku"]`)
	remember(headers[0], json.RawMessage(`["name", ""]`)) // the first is now the last
	headers = append(headers, Header{200})
	remember(Header{200}, json.RawMessage(`["sku"]`))
	want(maxHeaders, `["name", ""]`)
	if found, err := Remembered(t.Context(), d.DB, tenant, headers[1:2]); err != nil || len(found) > 0 {
		t.Errorf("the oldest still exists, %v", err)
	}
	remember(headers[0], nil)
	want(maxHeaders-1, "")
}
