package people

import "slices"

// Role decides what a member may do in a tenant. A role that is not in the table of this file has no access.
type Role string

// The roles.
const (
	Owner      Role = "owner"
	Admin      Role = "admin"
	Viewer     Role = "viewer"
	Accountant Role = "accountant"
	Clerk      Role = "clerk"
)

// Roles are all roles, that with the fewest permissions first.
var Roles = []Role{Clerk, Accountant, Viewer, Admin, Owner}

// Permission allows a member one kind of page, figure or change.
type Permission string

// The permissions of members.
const (
	Enter         Permission = "enter"          // pages about the member
	ReadProducts  Permission = "products"       // products and their stock
	ChangeStock   Permission = "change-stock"   // add, remove and count
	WriteProducts Permission = "write-products" // all that a product has but a cost that the member does not see
	ReadOrders    Permission = "orders"         // orders with the names of customers
	ReadReports   Permission = "reports"        // sales of a period
	ReadCosts     Permission = "costs"          // costs, profits and margins wherever they are
	ReadEmails    Permission = "emails"         // e-mail addresses of customers wherever they are
	Download      Permission = "download"       // files of what the member sees
	DownloadNames Permission = "download-names" // files with the names of all customers
	ReadPlans     Permission = "plans"          // price changes
	ReadSettings  Permission = "settings"       // keys, their usage, and members
	Invite        Permission = "invite"         // people with a role of Invited
	Manage        Permission = "manage"         // customers, imports, keys and webhooks
	Own           Permission = "own"            // all members
)

var (
	clerk      = []Permission{Enter, ReadProducts, ChangeStock, WriteProducts, ReadOrders, Download}
	accountant = []Permission{Enter, ReadProducts, ReadOrders, ReadReports, ReadCosts, Download, DownloadNames}
	viewer     = []Permission{
		Enter, ReadProducts, ReadOrders, ReadReports, ReadCosts, ReadEmails, Download, ReadPlans, ReadSettings,
	}
	admin = append(slices.Clip(viewer), ChangeStock, WriteProducts, DownloadNames, Invite, Manage)
	owner = append(slices.Clip(admin), Own)
)

// permissions is the table of roles. PostgreSQL checks the roles of changes of keys and members again.
var permissions = map[Role][]Permission{
	Clerk: clerk, Accountant: accountant, Viewer: viewer, Admin: admin, Owner: owner,
}

const roleProblem = "must be owner, admin, viewer, accountant or clerk"

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { return slices.Contains(Roles, r) }

// Allows reports whether a member with this role has the permission.
func (r Role) Allows(p Permission) bool { return slices.Contains(permissions[r], p) }

// Invited returns the roles of people whom a member with this role may invite.
func (r Role) Invited() []Role {
	switch {
	case r.Allows(Own):
		return Roles
	case r.Allows(Invite):
		return []Role{Clerk, Accountant}
	}
	return nil
}
