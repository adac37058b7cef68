package keys

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
)

// knownKey was created by another program, because the format is a contract.
const knownKey = "sk_live_0123456789ABCDEFGHIJabcdefghij420Ayhzo"

var keyPattern = regexp.MustCompile(`^sk_live_[0-9A-Za-z]{38}$`)

func TestGeneratedKeysAreValidAndRandom(t *testing.T) {
	t.Parallel()
	seen := map[Secret]bool{}
	count := map[rune]int{}
	for range 2000 {
		s := Generate()
		if err := Check(s.Reveal()); err != nil || seen[s] || !keyPattern.MatchString(s.Reveal()) {
			t.Fatalf("Generate() = %q, Check = %v, seen before: %v", s.Reveal(), err, seen[s])
		}
		seen[s] = true
		for _, c := range s.Reveal()[len(livePrefix):][:randomLength] {
			count[c]++
		}
	}
	// Each of 62 characters is expected 1,032 times, with a standard deviation of 32.
	for _, c := range base62 {
		if n := count[c]; n < 840 || n > 1230 {
			t.Errorf("%q is %d of 64,000 characters, want about 1032", c, n)
		}
	}
}

func TestCheckAcceptsOnlyWellFormedKeys(t *testing.T) {
	t.Parallel()
	if err := Check(knownKey); err != nil {
		t.Errorf("Check(%q) = %v", knownKey, err)
	}
	withoutSum, sum := knownKey[:keyLength-checksumLength], knownKey[keyLength-checksumLength:]
	testKey := "sk_test_" + withoutSum[len(livePrefix):]
	testSum := checksum(testKey)
	dashed := knownKey[:20] + "-" + withoutSum[21:]
	dashedSum := checksum(dashed)
	for name, token := range map[string]string{
		"an empty text":                      "",
		"only the prefix":                    livePrefix,
		"another service's key":              "ghp_0123456789abcdefghijabcdefghij420Ayhzo",
		"the reserved sk_test_":              testKey + string(testSum[:]),
		"a dash with a correct checksum":     dashed + string(dashedSum[:]),
		"a leading space":                    " " + knownKey,
		"a trailing line feed":               knownKey + "\n",
		"more than one key":                  knownKey + knownKey[:20],
		"a prefix in capitals":               strings.ToUpper(livePrefix) + knownKey[len(livePrefix):],
		"a checksum without its first digit": withoutSum + sum[1:],
	} {
		t.Run("Check refuses "+name, func(t *testing.T) {
			t.Parallel()
			if err := Check(token); !errors.Is(err, ErrMalformed) {
				t.Errorf("Check(%q) = %v, want ErrMalformed", token, err)
			}
		})
	}
}

func TestCheckRefusesEveryEditOfOneCharacter(t *testing.T) {
	t.Parallel()
	for _, key := range []string{knownKey, Generate().Reveal(), Generate().Reveal()} {
		for i := range key {
			for c := range 256 {
				replaced := key[:i] + string([]byte{byte(c)}) + key[i+1:]
				if replaced != key && Check(replaced) == nil {
					t.Errorf("Check(%q) = nil, an edit of %q", replaced, key)
				}
				if inserted := key[:i] + string([]byte{byte(c)}) + key[i:]; Check(inserted) == nil {
					t.Errorf("Check(%q) = nil, an edit of %q", inserted, key)
				}
			}
			if Check(key[:i]+key[i+1:]) == nil {
				t.Errorf("Check = nil without character %d of %q", i, key)
			}
			if i > 0 && key[i] != key[i-1] && Check(key[:i-1]+key[i:i+1]+key[i-1:i]+key[i+1:]) == nil {
				t.Errorf("Check = nil with characters %d and %d of %q swapped", i-1, i, key)
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(knownKey, 9, byte('x'))
	f.Add("sk_test_"+knownKey[8:], 0, byte(0))
	f.Add("", 45, byte(0xff))
	f.Add(strings.Repeat("é", 23), -1, byte('0'))
	f.Fuzz(func(t *testing.T, token string, at int, c byte) {
		if Check(token) == nil && !keyPattern.MatchString(token) {
			t.Errorf("Check(%q) = nil", token)
		}
		if s := Secret(token).String(); len(token) > 12 && strings.Contains(s, token) {
			t.Errorf("Secret(%q).String() = %q", token, s)
		}
		good := []byte(Generate())
		if i := int(uint(at) % uint(len(good))); good[i] != c {
			good[i] = c
			if Check(string(good)) == nil {
				t.Errorf("Check(%q) = nil after an edit at %d", good, i)
			}
		}
	})
}

func TestSecretsRedactThemselves(t *testing.T) {
	t.Parallel()
	type holder struct {
		Secret  Secret
		Many    []Secret
		ByName  map[string]Secret
		Peppers Peppers
	}
	pepper := mustPeppers(t, pepperOne+","+pepperTwo)
	secret := Secret(knownKey)
	h := holder{secret, []Secret{secret}, map[string]Secret{"a": secret}, pepper}
	encoded, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	shown := string(encoded) + secret.String() + Secret(knownKey+"x").String()
	for _, v := range []any{
		secret, &secret, h, &h, pepper, &pepper, New(nil, pepper), *New(nil, pepper), &Resolver{peppers: pepper},
	} {
		shown += printed(t, v)
	}
	for _, secret := range []string{
		knownKey[12:40], knownKey[8:16], "30313233343536", // in hex
		"010101", "AgICAg", "1, 1, 1", "1 1 1 1", `\x01\x01`,
	} {
		if i := strings.Index(shown, secret); i >= 0 {
			t.Errorf("%q is printed in %q", secret, shown[max(0, i-80):i+40])
		}
	}
	for _, want := range []string{"sk_live_0123…yhzo", "[no key]", "[peppers 1,2]"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not printed in %s", want, shown)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if Check(knownKey) != nil {
			b.Fatal("refused")
		}
	}
}
