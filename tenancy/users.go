package tenancy

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/argon2"
)

// Role is what a person may do in a tenant.
type Role string

// The roles, from most to least.
const (
	Owner  Role = "owner"
	Admin  Role = "admin"
	Viewer Role = "viewer"
)

// Valid says whether r is one of the roles.
func (r Role) Valid() bool { return r == Owner || r == Admin || r == Viewer }

// Member is a person in a tenant.
type Member struct {
	UserID int64
	Email  string
	Role   Role
	// NewAccount is false where the e-mail had an account already: it keeps its
	// password.
	NewAccount bool
}

// CreateUser makes the account of an e-mail unless there is one, and a member of
// the tenant. It needs the migrator's connection. It returns ErrConflict if the
// person is a member already, or an InvalidError.
func CreateUser(ctx context.Context, db *DB, tenant ID, email string, role Role, password string) (Member, error) {
	m := Member{Email: strings.ToLower(strings.TrimSpace(email)), Role: role}
	if err := validateUser(m, password); err != nil {
		return m, err
	}
	hash := HashPassword(password)
	err := db.asOperator(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, setTenant, tenant.setting()); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `
			insert into users (email, password_hash) values ($1, $2)
			on conflict (email) do nothing returning id`, m.Email, hash).Scan(&m.UserID)
		m.NewAccount = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			err = tx.QueryRow(ctx, `select id from users where email = $1`, m.Email).Scan(&m.UserID)
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `insert into memberships (tenant_id, user_id, role) values ($1, $2, $3)`, tenant, m.UserID, m.Role); err != nil {
			return err
		}
		return Audit(ctx, tx, tenant, Operator, Entry{Action: "member.create", Target: m.Email, Details: map[string]any{"role": m.Role}})
	})
	if SQLState(err) == "23505" {
		return m, fmt.Errorf("member %q: %w", m.Email, ErrConflict)
	}
	return m, wrap("create user", err)
}

func validateUser(m Member, password string) error {
	faults := InvalidError{}
	if fault := CheckEmail(m.Email); fault != "" {
		faults.Add("email", "%s", fault)
	}
	if !m.Role.Valid() {
		faults.Add("role", "must be owner, admin or viewer")
	}
	if fault := CheckPassword(password); fault != "" {
		faults.Add("password", "%s", fault)
	}
	return faults.Err()
}

// CheckEmail returns what is wrong with an e-mail address in lower case, or "".
func CheckEmail(email string) string {
	// ToLower has put the replacement character where an e-mail was not UTF-8.
	if a, err := mail.ParseAddress(email); err != nil || a.Address != email || len(email) > 254 || strings.ContainsRune(email, utf8.RuneError) {
		return "must be an e-mail address"
	}
	return hidden(email)
}

// CheckPassword returns what is wrong with a new password, or "".
func CheckPassword(password string) string {
	if n := len([]rune(password)); n < 12 || n > 128 {
		return "must have 12 to 128 characters"
	}
	return ""
}

// Argon2id's cost: OWASP's minimum, 19 MiB and two passes, about 40 ms here.
const (
	argonTime    = 2
	argonMemory  = 19 * 1024
	argonThreads = 1
)

// HashPassword returns the PHC string of a password under a fresh salt.
func HashPassword(password string) string {
	salt := make([]byte, 16)
	rand.Read(salt)
	sum := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, 32)
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads, encode(salt), encode(sum))
}

// PasswordMatches says whether a password belongs to a PHC string of argon2id. It
// refuses a string that HashPassword, at whatever cost of earlier or later years,
// would not write: argon2 panics on some parameters and takes gigabytes for others,
// and an empty sum would match every password.
func PasswordMatches(phc, password string) bool {
	const head = "$argon2id$v=%d$m=%d,t=%d,p=%d"
	var version, memory, time, threads int
	parameters, sum, _ := cutLast(phc, "$")
	parameters, salt, _ := cutLast(parameters, "$")
	if _, err := fmt.Sscanf(parameters, head, &version, &memory, &time, &threads); err != nil {
		return false
	}
	// Sscanf passes over signs, leading zeros and what follows.
	if parameters != fmt.Sprintf(head, version, memory, time, threads) {
		return false
	}
	if version != argon2.Version || time < 1 || time > 16 || threads < 1 || threads > 16 || memory < 8*threads || memory > 256*1024 {
		return false
	}
	s, err := base64.RawStdEncoding.Strict().DecodeString(salt)
	if err != nil || len(s) < 8 || len(s) > 64 {
		return false
	}
	want, err := base64.RawStdEncoding.Strict().DecodeString(sum)
	if err != nil || len(want) < 16 || len(want) > 64 {
		return false
	}
	got := argon2.IDKey([]byte(password), s, uint32(time), uint32(memory), uint8(threads), uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
