package keys

import (
	"slices"
	"strings"

	"github.com/storeroom/storeroom/tenancy"
)

// Permission allows one kind of request.
type Permission string

// The permissions of the service. A write permission implies the read permission of the
// same resource; stock is read with ProductsRead. PlansPropose allows to create and read change plans, which show
// products, but not to apply, cancel or undo them.
const (
	ProductsRead   Permission = "products:read"
	ProductsWrite  Permission = "products:write"
	InventoryWrite Permission = "inventory:write"
	ReportsRead    Permission = "reports:read"
	OrdersRead     Permission = "orders:read"
	OrdersWrite    Permission = "orders:write"
	CustomersRead  Permission = "customers:read"
	CustomersWrite Permission = "customers:write"
	UsageRead      Permission = "usage:read"
	ImportsRead    Permission = "imports:read"
	ImportsWrite   Permission = "imports:write"
	WebhooksRead   Permission = "webhooks:read"
	WebhooksWrite  Permission = "webhooks:write"
	PlansPropose   Permission = "plans:propose"
)

// every lists all permissions in the order of the settings pages.
var every = Permissions{
	ProductsRead, ProductsWrite, InventoryWrite, ReportsRead, OrdersRead, OrdersWrite, CustomersRead, CustomersWrite,
	UsageRead, ImportsRead, ImportsWrite, WebhooksRead, WebhooksWrite, PlansPropose,
}

var presets = map[string]Permissions{
	"full":      every,
	"read-only": {ProductsRead, ReportsRead, OrdersRead, CustomersRead, UsageRead, ImportsRead, WebhooksRead},
	"catalog":   {ProductsRead, ProductsWrite, InventoryWrite},
	"reporting": {ReportsRead, OrdersRead},
}

// earlierPresets are the permissions that presets had when older keys were created.
var earlierPresets = []map[string]Permissions{
	{
		"full":      {ProductsRead, ProductsWrite, InventoryWrite, ReportsRead, OrdersRead, OrdersWrite, CustomersRead},
		"read-only": {ProductsRead, ReportsRead, OrdersRead, CustomersRead},
	},
	{
		"full": {
			ProductsRead, ProductsWrite, InventoryWrite, ReportsRead, OrdersRead, OrdersWrite, CustomersRead, UsageRead,
		},
		"read-only": {ProductsRead, ReportsRead, OrdersRead, CustomersRead, UsageRead},
	},
	{
		"full": {
			ProductsRead, ProductsWrite, InventoryWrite, ReportsRead, OrdersRead, OrdersWrite, CustomersRead, CustomersWrite,
			UsageRead, ImportsRead, ImportsWrite,
		},
		"read-only": {ProductsRead, ReportsRead, OrdersRead, CustomersRead, UsageRead, ImportsRead},
	},
	{
		"full": {
			ProductsRead, ProductsWrite, InventoryWrite, ReportsRead, OrdersRead, OrdersWrite, CustomersRead, CustomersWrite,
			UsageRead, ImportsRead, ImportsWrite, WebhooksRead, WebhooksWrite,
		},
	},
}

// Permissions are the permissions of a key.
type Permissions []Permission

// Allow reports whether p includes or implies the permission.
func (p Permissions) Allow(need Permission) bool {
	for _, has := range p {
		switch {
		case has == need,
			(has == ProductsWrite || has == PlansPropose) && need == ProductsRead,
			has == ProductsWrite && need == PlansPropose,
			has == OrdersWrite && need == OrdersRead,
			has == CustomersWrite && need == CustomersRead,
			has == ImportsWrite && need == ImportsRead,
			has == WebhooksWrite && need == WebhooksRead:
			return true
		}
	}
	return false
}

// Preset returns the name of the preset that p equals or was created from, or "".
func (p Permissions) Preset() string {
	for _, known := range append([]map[string]Permissions{presets}, earlierPresets...) {
		for name, permissions := range known {
			if slices.Equal(p, permissions) {
				return name
			}
		}
	}
	return ""
}

// String returns p in the format of ParsePermissions.
func (p Permissions) String() string {
	names := make([]string, len(p))
	for i, permission := range p {
		names[i] = string(permission)
	}
	return strings.Join(names, ",")
}

// ParsePermissions parses a list such as `products:read,orders:write`, which may contain the presets full, read-only,
// catalog and reporting. The result is sorted, without duplicates. An InvalidError names every unknown word.
func ParsePermissions(s string) (Permissions, error) {
	invalid := tenancy.InvalidError{}
	asked := Permissions{}
	for word := range strings.SplitSeq(s, ",") {
		word = strings.TrimSpace(word)
		switch {
		case word == "":
		case presets[word] != nil:
			asked = append(asked, presets[word]...)
		case slices.Contains(every, Permission(word)):
			asked = append(asked, Permission(word))
		default:
			invalid.Add("permissions", "must not name %q: the permissions are %s; "+
				"the presets full, read-only, catalog, reporting", word, every)
		}
	}
	if len(asked) == 0 && len(invalid) == 0 {
		invalid.Add("permissions", "must name at least one of %s, or a preset: full, read-only, catalog, reporting", every)
	}
	if err := invalid.Err(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(every), func(p Permission) bool { return !slices.Contains(asked, p) }), nil
}
