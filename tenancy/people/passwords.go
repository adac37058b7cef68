package people

import (
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/crypto/argon2"
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

// Cost of Argon2id: OWASP's minimum, 19 MiB and two passes, takes about 40 ms.
const (
	argonTime    = 2
	argonMemory  = 19 * 1024
	argonThreads = 1
)

const phcParameters = "$argon2id$v=%d$m=%d,t=%d,p=%d"

// HashPassword returns the Argon2id hash of a password with a random salt, in PHC format.
func HashPassword(password string) string {
	salt := make([]byte, 16)
	rand.Read(salt)
	sum := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, 32)
	encode := base64.RawStdEncoding.EncodeToString
	parameters := fmt.Sprintf(phcParameters, argon2.Version, argonMemory, argonTime, argonThreads)
	return parameters + "$" + encode(salt) + "$" + encode(sum)
}

// PasswordMatches reports whether phc is the Argon2id hash of the password. It
// rejects parameters outside a sane range: argon2 panics on some values and
// allocates gigabytes for others, and an empty sum would match every password.
func PasswordMatches(phc, password string) bool {
	var version, memory, time, threads int
	parameters, sum, _ := cutLast(phc, "$")
	parameters, salt, _ := cutLast(parameters, "$")
	if _, err := fmt.Sscanf(parameters, phcParameters, &version, &memory, &time, &threads); err != nil {
		return false
	}
	// Sscanf accepts signs, leading zeros and trailing text; the comparison does not.
	if parameters != fmt.Sprintf(phcParameters, version, memory, time, threads) {
		return false
	}
	if version != argon2.Version || time < 1 || time > 16 || threads < 1 || threads > 16 ||
		memory < 8*threads || memory > 256*1024 {
		return false
	}
	saltBytes, err := base64.RawStdEncoding.Strict().DecodeString(salt)
	if err != nil || len(saltBytes) < 8 || len(saltBytes) > 64 {
		return false
	}
	want, err := base64.RawStdEncoding.Strict().DecodeString(sum)
	if err != nil || len(want) < 16 || len(want) > 64 {
		return false
	}
	got := argon2.IDKey([]byte(password), saltBytes, uint32(time), uint32(memory), uint8(threads), uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
