package keys

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
)

// minPepper is the minimum length of a pepper in bytes. A shorter one would be easier to
// guess than the hash.
const minPepper = 32

// Peppers are the secrets under which keys are hashed. They are not in the database, so a copy of it does not help to
// guess a key, and write access does not help to create one. The first pepper hashes new keys; removing a pepper
// invalidates its keys.
type Peppers struct{ list []pepper }

// pepper holds the secret in the closure of its pool, so that it cannot be printed.
type pepper struct {
	version int16
	macs    *sync.Pool // of *mac
}

type mac struct {
	hash.Hash
	in [keyLength]byte
}

// digest is a key's hash under one pepper.
type digest [sha256.Size]byte

// ParsePeppers reads `VERSION:SECRET,VERSION:SECRET…`, the current one first.
// Versions are 1 to 32767, each once; a secret is at least 32 bytes in hex or
// base64, made for example by `openssl rand -hex 32`. Errors never quote a secret.
func ParsePeppers(s string) (Peppers, error) {
	var p Peppers
	seen := map[int16]bool{}
	for part := range strings.SplitSeq(s, ",") {
		version, text, _ := strings.Cut(strings.TrimSpace(part), ":")
		n, err := strconv.ParseInt(version, 10, 16)
		if err != nil || n < 1 {
			return Peppers{}, errors.New("read the peppers: each must begin with a version from 1 to 32767 and a colon")
		}
		if seen[int16(n)] {
			return Peppers{}, fmt.Errorf("read the peppers: version %d is repeated", n)
		}
		seen[int16(n)] = true
		secret, ok := decodePepper(text)
		if !ok || len(secret) < minPepper {
			return Peppers{}, fmt.Errorf("read the peppers: version %d must be at least %d bytes in hex or base64", n, minPepper)
		}
		p.list = append(p.list, newPepper(int16(n), secret))
	}
	return p, nil
}

// decodePepper tries hex first, because hex digits are also valid base64.
func decodePepper(text string) ([]byte, bool) {
	if b, err := hex.DecodeString(text); err == nil {
		return b, true
	}
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	b, err := base64.RawStdEncoding.DecodeString(text)
	return b, err == nil
}

func newPepper(version int16, secret []byte) pepper {
	return pepper{version, &sync.Pool{New: func() any { return &mac{Hash: hmac.New(sha256.New, secret)} }}}
}

// hash returns the HMAC-SHA-256 of a key. The state is pooled because creating it takes
// longer than hashing.
func (p pepper) hash(token string) (d digest) {
	m := p.macs.Get().(*mac)
	m.Reset()
	m.Write(append(m.in[:0], token...))
	copy(d[:], m.Sum(m.in[:0]))
	p.macs.Put(m)
	return d
}

func (p Peppers) current() pepper { return p.list[0] }

// hashes returns the hash of the key under every pepper, for find_key.
func (p Peppers) hashes(token string) [][]byte {
	all := make([][]byte, len(p.list))
	for i, pepper := range p.list {
		d := pepper.hash(token)
		all[i] = d[:]
	}
	return all
}

// String returns the versions without the secrets.
func (p Peppers) String() string {
	versions := make([]string, len(p.list))
	for i, pepper := range p.list {
		versions[i] = strconv.Itoa(int(pepper.version))
	}
	return "[peppers " + strings.Join(versions, ",") + "]"
}

// Format prints String for every verb.
func (p Peppers) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, p.String()) }

// LogValue implements slog.LogValuer.
func (p Peppers) LogValue() slog.Value { return slog.StringValue(p.String()) }

// MarshalText returns String, so that JSON does not contain the secrets.
func (p Peppers) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
