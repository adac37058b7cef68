package keys

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPermissionAllowsWhatItIncludes(t *testing.T) {
	t.Parallel()
	granted := map[Permission]Permissions{
		ProductsRead:   {ProductsRead},
		ProductsWrite:  {ProductsRead, ProductsWrite, PlansPropose},
		PlansPropose:   {ProductsRead, PlansPropose},
		InventoryWrite: {InventoryWrite},
		ReportsRead:    {ReportsRead},
		OrdersRead:     {OrdersRead},
		OrdersWrite:    {OrdersRead, OrdersWrite},
		CustomersRead:  {CustomersRead},
		CustomersWrite: {CustomersRead, CustomersWrite},
		UsageRead:      {UsageRead},
		ImportsRead:    {ImportsRead},
		ImportsWrite:   {ImportsRead, ImportsWrite},
	}
	for has, want := range granted {
		var got Permissions
		for _, need := range append(every, "", "inventory:read", "products", "orders:writ") {
			if (Permissions{has}).Allow(need) {
				got = append(got, need)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("permissions that %s allows (-want +got):\n%s", has, diff)
		}
	}
	if (Permissions{}).Allow(ProductsRead) || (Permissions{"products:*"}).Allow(ProductsRead) {
		t.Error("an empty list or a wildcard allows products:read")
	}
}

func TestParsePermissionsReadsNamesAndPresets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in, want string
	}{
		{"sorts a list and removes duplicates", "orders:write, products:read,orders:write",
			"products:read,orders:write"},
		{"keeps read permissions that write permissions include", "products:write,products:read",
			"products:read,products:write"},
		{"accepts full", "full",
			"products:read,products:write,inventory:write,reports:read,orders:read,orders:write,customers:read,customers:write," +
				"usage:read,imports:read,imports:write,webhooks:read,webhooks:write,plans:propose"},
		{"accepts read-only", "read-only", "products:read,reports:read,orders:read,customers:read,usage:read,imports:read,webhooks:read"},
		{"accepts catalog", "catalog", "products:read,products:write,inventory:write"},
		{"accepts reporting", "reporting", "reports:read,orders:read"},
		{"combines a preset with a name", "customers:read,reporting", "reports:read,orders:read,customers:read"},
	} {
		t.Run("ParsePermissions "+tt.name, func(t *testing.T) {
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
		{"refuses an empty list", " ,", []string{"at least one"}},
		{"names every unknown permission", "products:read,inventory:read,everything",
			[]string{`"inventory:read"`, `"everything"`}},
		{"distinguishes case", "Full", []string{`"Full"`}},
	} {
		t.Run("ParsePermissions "+tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParsePermissions(tt.in)
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("ParsePermissions(%q) = %v, %v, want an error with %s", tt.in, got, err, want)
				}
			}
		})
	}
	if every[0] != ProductsRead || len(every) != 14 {
		t.Errorf("parsing has changed the permissions: %v", every)
	}
}

func TestPresetNamesKeysOfEarlierVersionsToo(t *testing.T) {
	t.Parallel()
	for permissions, want := range map[string]string{
		"full": "full", "read-only": "read-only", "catalog": "catalog", "reporting": "reporting",
		"products:read,products:write,inventory:write,reports:read,orders:read,orders:write,customers:read":            "full",
		"products:read,products:write,inventory:write,reports:read,orders:read,orders:write,customers:read,usage:read": "full",
		"products:read,reports:read,orders:read,customers:read":                                                        "read-only",
		"products:read,reports:read,orders:read,customers:read,usage:read":                                             "read-only",
		"products:read,products:write,inventory:write,reports:read,orders:read,orders:write,customers:read,customers:write," +
			"usage:read,imports:read,imports:write,webhooks:read,webhooks:write": "full",
		"products:read": "",
		"products:read,reports:read,orders:read,customers:read,usage:read,imports:read": "read-only",
		"catalog,usage:read":     "",
		"read-only,orders:write": "",
	} {
		parsed, err := ParsePermissions(permissions)
		if got := parsed.Preset(); err != nil || got != want {
			t.Errorf("Preset of %s = %q, %v, want %q", permissions, got, err, want)
		}
	}
	if got := (Permissions{}).Preset(); got != "" {
		t.Errorf("Preset of no permissions = %q, want none", got)
	}
}
