package tenancy

// Actor is the person or program that made a change, as the audit log names it.
type Actor struct {
	UserID  *int64 // nil for a command and a key
	KeyID   *int64 // nil for a person and a command
	Name    string // an e-mail address, or operator
	Address string // of the client; "" for a command
	// Session is the hash of the token of the person's session. PostgreSQL checks it and the person's role before it
	// changes keys or members. It is nil for a command, which uses the migrator's connection instead.
	Session []byte
}

// Operator is the actor of every command.
var Operator = Actor{Name: "operator"}
