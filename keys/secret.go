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

// ErrMalformed reports that a text does not have the format of a key.
var ErrMalformed = errors.New("malformed key")

const (
	livePrefix     = "sk_live_"
	randomLength   = 32
	checksumLength = 6
	keyLength      = len(livePrefix) + randomLength + checksumLength

	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Secret is a complete key. Printing, logging and encoding show only its start and its end.
type Secret string

// Generate creates a key: `sk_live_`, 32 random base62 characters (190 bits) and a
// checksum of 6. The checksum detects typing errors, and false positives of secret
// scanners, without a lookup.
func Generate() Secret {
	key := append(make([]byte, 0, keyLength), livePrefix...)
	for random := make([]byte, randomLength); ; {
		rand.Read(random)
		for _, b := range random {
			if len(key) == len(livePrefix)+randomLength {
				sum := checksum(string(key))
				return Secret(append(key, sum[:]...))
			}
			// 4*62 is the largest multiple of 62 in a byte; above it, the characters would not
			// be equally likely.
			if b < 4*62 {
				key = append(key, base62[b%62])
			}
		}
	}
}

// Mentions reports whether a text may contain a key.
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

// checksum returns the CRC-32 (IEEE) of head as six base62 digits. It does not use
// crc32.ChecksumIEEE, which would allocate in every request.
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

// Reveal returns the complete key, to show it once and to hash it.
func (s Secret) Reveal() string { return string(s) }

// prefix and last4 are the parts of a key that are stored and may be shown.
func (s Secret) prefix() string { return string(s[:len(livePrefix)+4]) }
func (s Secret) last4() string  { return string(s[keyLength-4:]) }

// String returns the start and the end of the key, `sk_live_abcd…wxyz`. It returns nothing of a malformed key.
func (s Secret) String() string {
	if Check(string(s)) != nil {
		return "[no key]"
	}
	return s.prefix() + "…" + s.last4()
}

// Format prints String for every verb, including %#v and %d.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, s.String()) }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns String, so that JSON does not contain the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
