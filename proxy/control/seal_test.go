package control

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
)

// cheap seals at a cost that a test can pay; the contract of the facades pays
// the real one.
const cheap = sealer(1 << 4)

func TestSealedKeysOpenWithTheirPassphraseOnly(t *testing.T) {
	keys := map[string]string{"Work": "sk-ant-canary-0123456789", "Spare": "k"}
	s, err := cheap.seal(keys, "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(s)
	if err != nil || strings.Contains(string(raw), "canary") {
		t.Fatalf("sealed %s, %v", raw, err)
	}
	if got, err := cheap.open(s, "correct horse"); err != nil || !maps.Equal(got, keys) {
		t.Errorf("opened %v, %v", got, err)
	}
	if got, err := cheap.open(s, ""); err != nil || len(got) != 0 {
		t.Errorf("without a passphrase %v, %v; want nothing", got, err)
	}
	again, err := cheap.seal(keys, "correct horse")
	if err != nil || again.Salt == s.Salt || again.Box == s.Box {
		t.Errorf("a second seal repeats the first: %v", err)
	}
	flipped := []byte(s.Box)
	flipped[20] ^= 1
	for name, bad := range map[string]struct {
		s          SealedSecrets
		passphrase string
	}{
		"another passphrase": {*s, "incorrect horse"},
		"a changed box":      {SealedSecrets{s.KDF, s.Salt, string(flipped)}, "correct horse"},
		"another salt":       {SealedSecrets{s.KDF, again.Salt, s.Box}, "correct horse"},
		"another cost":       {SealedSecrets{"scrypt-1073741824-8-1", s.Salt, s.Box}, "correct horse"},
		"an empty box":       {SealedSecrets{s.KDF, s.Salt, ""}, "correct horse"},
		"no base64":          {SealedSecrets{s.KDF, "?", s.Box}, "correct horse"},
	} {
		_, err := cheap.open(&bad.s, bad.passphrase)
		if _, ok := errors.AsType[*InvalidError](err); !ok {
			t.Errorf("%s: %v, want an InvalidError", name, err)
		}
	}
	if _, err := cheap.seal(keys, "short"); err == nil {
		t.Error("a short passphrase was taken")
	}
}
