package keys

import (
	"slices"
	"strings"

	"github.com/storeroom/storeroom/tenancy"
)

// Permission is one thing that a key may do.
type Permission string

// The permissions of the service. Writing implies reading of the same thing;
// InventoryWrite has nothing to read, stock is part of the product.
const (
	ProductsRead   Permission = "products:read"
	ProductsWrite  Permission = "products:write"
	InventoryWrite Permission = "inventory:write"
	ReportsRead    Permission = "reports:read"
	OrdersRead     Permission = "orders:read"
	OrdersWrite    Permission = "orders:write"
	CustomersRead  Permission = "customers:read"
)

// every is all permissions in the order in which people see them.
var every = Permissions{ProductsRead, ProductsWrite, InventoryWrite, ReportsRead, OrdersRead, OrdersWrite, CustomersRead}

var presets = map[string]Permissions{
	"full":      every,
	"read-only": {ProductsRead, ReportsRead, OrdersRead, CustomersRead},
	"catalog":   {ProductsRead, ProductsWrite, InventoryWrite},
	"reporting": {ReportsRead, OrdersRead},
}

// Permissions is what a key may do.
type Permissions []Permission

// Allow says whether a key with these permissions may do what needs one of them.
func (p Permissions) Allow(need Permission) bool {
	for _, has := range p {
		if has == need || has == ProductsWrite && need == ProductsRead || has == OrdersWrite && need == OrdersRead {
			return true
		}
	}
	return false
}

// String returns what ParsePermissions reads.
func (p Permissions) String() string {
	names := make([]string, len(p))
	for i, permission := range p {
		names[i] = string(permission)
	}
	return strings.Join(names, ",")
}

// ParsePermissions reads a list such as `products:read,orders:write`, in which the
// presets full, read-only, catalog and reporting stand for what they hold. The
// outcome is in one order and without repetition. It returns an InvalidError that
// names every unknown word.
func ParsePermissions(s string) (Permissions, error) {
	faults := tenancy.InvalidError{}
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
			faults.Add("permissions", "must not name %q: the permissions are %s; the presets full, read-only, catalog, reporting", word, every)
		}
	}
	if len(asked) == 0 && len(faults) == 0 {
		faults.Add("permissions", "must name at least one of %s, or a preset: full, read-only, catalog, reporting", every)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(every), func(p Permission) bool { return !slices.Contains(asked, p) }), nil
}
