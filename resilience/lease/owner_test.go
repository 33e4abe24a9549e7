package lease

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func TestOwnersHaveOneForm(t *testing.T) {
	forty := strings.Repeat("aZ9-_", 8)
	for _, tc := range []struct {
		name, owner string
		want        bool
	}{
		{"well formed", "vlo_" + forty + "abc", true},
		{"case 136 too short", "vlo_" + forty + "ab", false},
		{"case 136 too long", "vlo_" + forty + "abcd", false},
		{"other prefix", "vlx_" + forty + "abc", false},
		{"padding", "vlo_" + forty + "ab=", false},
		{"plain base64", "vlo_" + forty + "a+/", false},
		{"a letter of two bytes", "vlo_" + forty + "aé", false},
		{"empty", "", false},
	} {
		if got := ValidOwner(tc.owner); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestGenerationsHaveOneSpelling(t *testing.T) {
	for in, want := range map[string]int64{
		"1": 1, "42": 42, "9007199254740991": MaxGeneration,
		// case 137
		"0": 0, "01": 0, "1.5": 0, "9007199254740992": 0,
		"": 0, "-1": 0, "+1": 0, " 1": 0, "1 ": 0, "1e3": 0, "0x1": 0, "99999999999999999999": 0,
	} {
		got, ok := ParseGeneration(in)
		if ok != (want > 0) || ok && got != want {
			t.Errorf("case 137 %q: %d %v, want %d", in, got, ok, want)
		}
	}
}

func TestHashIsTheWholeOwners(t *testing.T) {
	owner := "vlo_" + strings.Repeat("x", 43)
	if got, want := Hash(owner), fmt.Sprintf("%x", sha256.Sum256([]byte(owner))); got != want || len(got) != 64 {
		t.Errorf("%s, want %s", got, want)
	}
}

func FuzzGeneration(f *testing.F) {
	for _, s := range []string{"1", "0", "01", "9007199254740991", "9007199254740992", "1.5", "-3", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, ok := ParseGeneration(s)
		if ok && (n < 1 || n > MaxGeneration || strconv.FormatInt(n, 10) != s) {
			t.Errorf("%q gave %d", s, n)
		}
	})
}

func FuzzOwner(f *testing.F) {
	f.Add("vlo_" + strings.Repeat("a", 43))
	f.Add("vlo_" + strings.Repeat("é", 21) + "a")
	f.Fuzz(func(t *testing.T, s string) {
		if ValidOwner(s) && (len(s) != 47 || strings.ContainsAny(s, "\r\n =+/")) {
			t.Errorf("%q passes", s)
		}
	})
}
