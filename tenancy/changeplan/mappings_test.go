package changeplan

import (
	"slices"
	"testing"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

func TestATenantHasTheMappingsOfTheLastHeaders(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant, other := d.MustTenant(t, "acme").ID, d.MustTenant(t, "other").ID
	var headers []Header
	remember := func(header Header, fields []string) {
		t.Helper()
		if err := RememberMappings(t.Context(), d.DB, tenant, map[Header][]string{header: fields}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(n int, first ...string) {
		t.Helper()
		found, err := Mappings(t.Context(), d.DB, tenant, headers)
		if err != nil || len(found) != n || !slices.Equal(found[headers[0]], first) {
			t.Errorf("found %d with %q first, %v, want %d with %q", len(found), found[headers[0]], err, n, first)
		}
		if found, err := Mappings(t.Context(), d.DB, other, headers); err != nil || len(found) > 0 {
			t.Errorf("another tenant has %d, %v", len(found), err)
		}
	}
	for i := range maxMappings {
		headers = append(headers, Header{byte(i)})
		remember(headers[i], []string{"sku"})
	}
	want(maxMappings, "sku")
	remember(headers[0], []string{"name", ""}) // the first is now the last
	headers = append(headers, Header{200})
	remember(Header{200}, []string{"sku"})
	want(maxMappings, "name", "")
	if found, err := Mappings(t.Context(), d.DB, tenant, headers[1:2]); err != nil || len(found) > 0 {
		t.Errorf("the oldest still exists, %v", err)
	}
	forget := func(fields ...string) {
		t.Helper()
		if err := ForgetMappings(t.Context(), d.DB, tenant, map[Header][]string{headers[0]: fields}); err != nil {
			t.Fatal(err)
		}
	}
	forget("price", "")
	want(maxMappings, "name", "")
	forget("name", "")
	want(maxMappings - 1)
	remember(headers[2], nil)
	want(maxMappings - 2)
}
