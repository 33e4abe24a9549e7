package control

import (
	"strings"
	"testing"
)

func TestOwnKeysAreKnownByTheirForm(t *testing.T) {
	token, err := Token(make(forms))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		k := newKey()
		for _, text := range []string{k, "Bearer " + k, "sk-" + k, "sk-sk-ant-" + k + "x", k[:20] + k, "bwk_" + k, token, "a=" + token + "; b", "bwk_" + token} {
			if !HoldsOwnKey(text) {
				t.Errorf("%q is not known", text)
			}
		}
		last := k[:len(k)-1] + string("0123456789abcdef"[(strings.IndexByte("0123456789abcdef", k[len(k)-1])+1)%16])
		for _, text := range []string{"", k[1:], k[:len(k)-1], last, strings.ToUpper(k), strings.Replace(k, "-", "_", 2), token[1:], token[:len(token)-1], strings.ToLower(token), "sk-ant-oat01-" + k[3:]} {
			if HoldsOwnKey(text) {
				t.Errorf("%q was taken for one of ours", text)
			}
		}
	}
}

// forms keeps secrets in memory.
type forms map[string]string

func (f forms) Secret(name string) (string, bool, error)     { v, ok := f[name]; return v, ok, nil }
func (f forms) SetSecret(name, value string) error           { f[name] = value; return nil }
func (f forms) AddSecret(name, value string) (string, error) { return value, f.SetSecret(name, value) }
func (f forms) DeleteSecret(name string) error               { delete(f, name); return nil }
func (forms) Backend() string                                { return "file" }
