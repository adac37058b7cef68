package people

import (
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/crypto/argon2"

	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/limits"
)

//go:embed common_passwords.txt
var commonPasswordsFile string

var commonPasswords = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(commonPasswordsFile) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			set[line] = true
		}
	}
	return set
})

// CheckPassword returns why a new password is not acceptable, or "".
func CheckPassword(password string) (problem string) {
	if n := len([]rune(password)); n < 12 || n > 128 {
		return "must have 12 to 128 characters"
	}
	if commonPasswords()[strings.ToLower(password)] {
		return "must not be one of the most common passwords"
	}
	return ""
}

// proofs derives the proof of each password: its Argon2id hash with the parameters and the
// salt of the e-mail address. The database stores the SHA-256 of the proof of an account's
// password. An address without an account takes as long. proofs returns limits.ErrBusy.
func (s *Store) proofs(ctx context.Context, email string, passwords ...string) ([][]byte, error) {
	found, err := db.Call[struct{ Parameters string }](
		ctx, s.db, `select password_parameters($1) as parameters`, email)
	if err != nil {
		return nil, fmt.Errorf("read password parameters: %w", err)
	}
	all := make([][]byte, len(passwords))
	for i, password := range passwords {
		if len(password) > 512 {
			password = "" // too long for any account; hashed anyway, so that it takes as long
		}
		if all[i], err = hash(ctx, found[0].Parameters, password); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func hash(ctx context.Context, parameters, password string) ([]byte, error) {
	release, err := limits.FromContext(ctx).Take(ctx, limits.CPU, 1)
	if err != nil {
		return nil, err
	}
	defer release()
	return derive(parameters, password)
}

const phcParameters = "$argon2id$v=%d$m=%d,t=%d,p=%d"

// derive returns the Argon2id hash of a password. The parameters and the salt have the PHC
// format. They must be in a sane range: argon2 panics on some values and allocates gigabytes
// for others.
func derive(parameters, password string) ([]byte, error) {
	var version, memory, time, threads int
	end := max(0, strings.LastIndex(parameters, "$"))
	cost := parameters[:end]
	_, err := fmt.Sscanf(cost, phcParameters, &version, &memory, &time, &threads)
	salt, saltErr := base64.RawStdEncoding.Strict().DecodeString(strings.TrimPrefix(parameters[end:], "$"))
	// Sscanf accepts signs, leading zeros and trailing text; the comparison does not.
	if err != nil || saltErr != nil || cost != fmt.Sprintf(phcParameters, version, memory, time, threads) ||
		version != argon2.Version || time < 1 || time > 16 || threads < 1 || threads > 16 ||
		memory < 8*threads || memory > 256*1024 || len(salt) < 8 || len(salt) > 64 {
		return nil, errors.New("the database has invalid password parameters")
	}
	return argon2.IDKey([]byte(password), salt, uint32(time), uint32(memory), uint8(threads), 32), nil
}
