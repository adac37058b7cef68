package keys

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"strings"
	"sync"
	"testing"
)

func TestParsePeppersAcceptsOnlyValidPeppers(t *testing.T) {
	t.Parallel()
	p := mustPeppers(t, " "+pepperTwo+" , "+pepperOne)
	if len(p.list) != 2 || p.current().version != 2 || p.list[1].version != 1 {
		t.Errorf("ParsePeppers = %v, want versions 2 and 1", p)
	}
	hash := func(secret byte) []byte {
		h := hmac.New(sha256.New, bytes.Repeat([]byte{secret}, 32))
		h.Write([]byte(knownKey))
		return h.Sum(nil)
	}
	for i, want := range [][]byte{hash(2), hash(1)} {
		if got := p.hashes(knownKey)[i]; !bytes.Equal(got, want) {
			t.Errorf("hash under pepper %d = %x, want the HMAC-SHA-256 %x", i, got, want)
		}
	}

	secret := strings.Repeat("zz_-", 11) // 33 bytes, in the alphabet of URLs
	if p := mustPeppers(t, "32767:"+secret); p.current().version != 32767 {
		t.Errorf("ParsePeppers of base64 for URLs = %v", p)
	}
	for name, text := range map[string]string{
		"an empty text":       "",
		"no version":          strings.TrimPrefix(pepperOne, "1:"),
		"version 0":           "0" + pepperOne[1:],
		"a version too large": "32768" + pepperOne[1:],
		"a version twice":     pepperOne + "," + pepperOne,
		"31 bytes":            pepperOne[:64],
		"no secret":           "1:",
		"another alphabet":    "1:" + strings.Repeat("*", 64),
		"a trailing comma":    pepperOne + ",",
	} {
		t.Run("ParsePeppers refuses "+name, func(t *testing.T) {
			t.Parallel()
			p, err := ParsePeppers(text)
			if err == nil || p.list != nil {
				t.Fatalf("ParsePeppers(%q) = %v, want an error", text, p)
			}
			if strings.Contains(err.Error(), "0101") || strings.Contains(err.Error(), "***") {
				t.Errorf("the error quotes the secret: %v", err)
			}
		})
	}
}

func TestHashIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	p := mustPeppers(t, pepperOne).current()
	var tasks sync.WaitGroup
	for range 8 {
		tasks.Go(func() {
			key := Generate().Reveal()
			want := p.hash(key)
			for range 500 {
				if got := p.hash(key); got != want {
					t.Errorf("hash = %x, then %x", want, got)
					return
				}
			}
		})
	}
	tasks.Wait()
}

func BenchmarkHash(b *testing.B) {
	p := mustPeppers(b, pepperOne).current()
	b.ReportAllocs()
	for b.Loop() {
		p.hash(knownKey)
	}
}
