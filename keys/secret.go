package keys

import (
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"strings"
)

// ErrMalformed says that a text cannot be a key of this service, whatever is
// stored.
var ErrMalformed = errors.New("malformed key")

const (
	livePrefix     = "sk_live_"
	randomLength   = 32
	checksumLength = 6
	keyLength      = len(livePrefix) + randomLength + checksumLength

	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Secret is a whole key. However it is printed, logged or encoded it shows only
// what List shows of it: its beginning and its end.
type Secret string

// Generate makes a key: `sk_live_`, 32 random base62 characters (190 bits) and 6
// of checksum, by which typing errors and secret scanners' false finds are told
// without asking anybody.
func Generate() Secret {
	key := append(make([]byte, 0, keyLength), livePrefix...)
	for random := make([]byte, randomLength); ; {
		rand.Read(random)
		for _, b := range random {
			if len(key) == len(livePrefix)+randomLength {
				sum := checksum(string(key))
				return Secret(append(key, sum[:]...))
			}
			// The four bytes beyond would make the first characters likelier.
			if b < 4*62 {
				key = append(key, base62[b%62])
			}
		}
	}
}

// Mentions says whether a text may hold a key, whatever else is in it.
func Mentions(text string) bool { return strings.Contains(text, livePrefix) }

// Check returns ErrMalformed unless the text has a key's prefix, length, alphabet
// and checksum. `sk_test_` is reserved, and refused.
func Check(token string) error {
	if len(token) != keyLength || !strings.HasPrefix(token, livePrefix) {
		return ErrMalformed
	}
	const end = keyLength - checksumLength
	for i := len(livePrefix); i < end; i++ {
		if c := token[i]; (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return ErrMalformed
		}
	}
	if sum := checksum(token[:end]); string(sum[:]) != token[end:] {
		return ErrMalformed
	}
	return nil
}

// checksum is the CRC-32 (IEEE) of a key's beginning as six base62 digits. The
// loop stands here because crc32.ChecksumIEEE would have every request allocate.
func checksum(head string) (digits [checksumLength]byte) {
	sum := ^uint32(0)
	for i := range len(head) {
		sum = crc32.IEEETable[byte(sum)^head[i]] ^ sum>>8
	}
	sum = ^sum
	for i := checksumLength - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return digits
}

// Reveal gives the key away: to show it the one time, and to hash it.
func (s Secret) Reveal() string { return string(s) }

// prefix and last4 are what may be shown of a key for ever.
func (s Secret) prefix() string { return string(s[:len(livePrefix)+4]) }
func (s Secret) last4() string  { return string(s[keyLength-4:]) }

// String returns the key's beginning and end, `sk_live_abcd…wxyz`, and nothing at
// all of what is no key.
func (s Secret) String() string {
	if Check(string(s)) != nil {
		return "[no key]"
	}
	return s.prefix() + "…" + s.last4()
}

// Format prints String whatever the verb, %#v and %d included.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, s.String()) }

// LogValue is String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is String, so that JSON redacts too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
