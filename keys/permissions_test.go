package keys

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPermissionsAllow(t *testing.T) {
	t.Parallel()
	granted := map[Permission]Permissions{
		ProductsRead:   {ProductsRead},
		ProductsWrite:  {ProductsRead, ProductsWrite},
		InventoryWrite: {InventoryWrite},
		ReportsRead:    {ReportsRead},
		OrdersRead:     {OrdersRead},
		OrdersWrite:    {OrdersRead, OrdersWrite},
		CustomersRead:  {CustomersRead},
	}
	for has, want := range granted {
		var got Permissions
		for _, need := range append(every, "", "inventory:read", "products", "orders:writ") {
			if (Permissions{has}).Allow(need) {
				got = append(got, need)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what %s allows (-want +got):\n%s", has, diff)
		}
	}
	if (Permissions{}).Allow(ProductsRead) || (Permissions{"products:*"}).Allow(ProductsRead) {
		t.Error("nothing and a wildcard allow products:read, want neither to")
	}
}

func TestParsePermissions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in, want string
	}{
		{"puts a list in one order, once each", "orders:write, products:read,orders:write", "products:read,orders:write"},
		{"keeps the reading that writing implies", "products:write,products:read", "products:read,products:write"},
		{"knows full", "full", "products:read,products:write,inventory:write,reports:read,orders:read,orders:write,customers:read"},
		{"knows read-only", "read-only", "products:read,reports:read,orders:read,customers:read"},
		{"knows catalog", "catalog", "products:read,products:write,inventory:write"},
		{"knows reporting", "reporting", "reports:read,orders:read"},
		{"adds to a preset", "customers:read,reporting", "reports:read,orders:read,customers:read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParsePermissions(tt.in)
			if err != nil || got.String() != tt.want {
				t.Errorf("ParsePermissions(%q) = %v, %v, want %s", tt.in, got, err, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"refuses nothing", " ,", []string{"at least one"}},
		{"names every unknown word", "products:read,inventory:read,everything", []string{`"inventory:read"`, `"everything"`}},
		{"minds the case", "Full", []string{`"Full"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParsePermissions(tt.in)
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("ParsePermissions(%q) = %v, %v, want an error with %s", tt.in, got, err, want)
				}
			}
		})
	}
	if every[0] != ProductsRead || len(every) != 7 {
		t.Errorf("parsing has changed the permissions: %v", every)
	}
}
