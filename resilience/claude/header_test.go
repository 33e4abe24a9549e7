package claude

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestSwitchesAndData(t *testing.T) {
	t.Run("T1 only a real true opts in", func(t *testing.T) {
		for _, c := range []struct {
			v    any
			want bool
		}{{true, true}, {"true", false}, {1, false}, {1.0, false}, {nil, false}, {false, false}} {
			got := ReadData(map[string]any{"lowPriorityMode": c.v, "autoLimitReset": c.v}).Switches
			if got != (Switches{LowPriority: c.want, AutoReset: c.want}) || got.Either() != c.want {
				t.Errorf("%#v reads as %+v", c.v, got)
			}
		}
		if ReadData(nil).Switches.Either() {
			t.Error("missing data opts in")
		}
	})
	t.Run("T2 keys", func(t *testing.T) {
		if k := KeyOf("c1", "t", false); k.String() != "c1" || k != (Key{Connection: "c1"}) {
			t.Errorf("key = %s", k)
		}
		// Ruling 34: the hash stands for the token, which is not kept.
		if k := KeyOf("", "t", false); k.String() == "anon" || k != KeyOf("", "t", true) || strings.HasSuffix(k.String(), "#t") {
			t.Errorf("key = %s", k)
		}
		if k := KeyOf("", "", false); k.String() != "anon" {
			t.Errorf("key = %s", k)
		}
		a, b := KeyOf("c1", "sk-ant-oat-a", true), KeyOf("c1", "sk-ant-oat-b", true)
		if a == b || a != KeyOf("c1", "sk-ant-oat-a", true) || strings.Contains(a.String(), "sk-ant") || !strings.HasPrefix(a.String(), "c1#") {
			t.Errorf("passthrough keys %s and %s", a, b)
		}
	})
	t.Run("X16 start timeout", func(t *testing.T) {
		for _, c := range []struct {
			v    any
			want time.Duration
		}{
			{180_000, 180 * time.Second},
			{180_000.0, 180 * time.Second},
			{int64(1), time.Millisecond},
			{86_400_000, 24 * time.Hour},
			{nil, DefaultStartTimeout},
			{0, DefaultStartTimeout},
			{-1, DefaultStartTimeout},
			{math.NaN(), DefaultStartTimeout},
			{"180000", DefaultStartTimeout},
			{86_400_001, DefaultStartTimeout},
			{math.Inf(1), DefaultStartTimeout},
		} {
			if got := ReadData(map[string]any{"timeoutMs": c.v}).StartTimeout; got != c.want {
				t.Errorf("%v reads as %s", c.v, got)
			}
		}
	})
	t.Run("organisation in either spelling", func(t *testing.T) {
		for _, field := range []string{"organizationUUID", "organization_uuid"} {
			if got := ReadData(map[string]any{field: " o1 "}).Organization; got != "o1" {
				t.Errorf("%s reads as %q", field, got)
			}
		}
		if got := ReadData(map[string]any{"organizationUUID": "", "organization_uuid": "b"}).Organization; got != "b" {
			t.Errorf("blank first: %q", got)
		}
	})
}

func TestHeaders(t *testing.T) {
	t.Run("T3 upper-case names", func(t *testing.T) {
		h := headers{}
		for k, v := range wall() {
			h[strings.ToUpper(k)] = v
		}
		a, b := readUnified(wall()), readUnified(h)
		if a != b || a[slowOffer] != treatment {
			t.Errorf("%q and %q", a, b)
		}
	})
	t.Run("T4 words that nobody knows", func(t *testing.T) {
		u := readUnified(says("slow-offer", "bogus", "slow-status", "???"))
		if u.offer() != "" || u.slow() != wordUnrecognized || u.atWall() {
			t.Errorf("offer %q, status %q", u.offer(), u.slow())
		}
		u = readUnified(nil)
		if u.offer() != "" || u.slow() != wordAbsent {
			t.Errorf("offer %q, status %q", u.offer(), u.slow())
		}
	})
	t.Run("T5 figures that are none", func(t *testing.T) {
		for _, v := range []string{"abc", "", "-1", "  ", "NaN", "Inf", "-Inf", "1e999"} {
			u := readUnified(says("reset", v, "slow-retry-after", v))
			if at := u.moment(reset); !at.IsZero() {
				t.Errorf("%q is the moment %s", v, at)
			}
			if f, ok := u.number(slowRetryAfter); ok {
				t.Errorf("%q is the figure %v", v, f)
			}
		}
		u := readUnified(says("slow-retry-after", " 7.5 ", "slow-budget-utilization", "1.5"))
		if f, ok := u.number(slowRetryAfter); !ok || f != 7.5 {
			t.Errorf("7.5 reads as %v", f)
		}
		if f, ok := u.share(slowUsed); !ok || f != 1 {
			t.Errorf("1.5 of the budget reads as %v", f)
		}
	})
	t.Run("two spellings of one name read the same every time", func(t *testing.T) {
		h := headers{unifiedPrefix + "status": {"rejected"}, "Anthropic-Ratelimit-Unified-Status": {"", " allowed "}}
		for range 50 {
			if u := readUnified(h); u[status] != "allowed" {
				t.Fatalf("status = %q", u[status])
			}
		}
	})
	t.Run("names behind the prefix", func(t *testing.T) {
		for name, want := range map[string]bool{
			"Anthropic-RateLimit-Unified-5h-Reset": true, "anthropic-ratelimit-unified-": true, "anthropic-ratelimit-unified": false,
			"anthropic-ratelimit-requests-reset": false, "retry-after": false,
		} {
			if IsUnified(name) != want {
				t.Errorf("IsUnified(%q) = %v", name, !want)
			}
		}
		if longest := func() (n int) {
			for s := range suffixes {
				n = max(n, len(s))
			}
			return n
		}(); longest > longestSuffix {
			t.Errorf("a name of %d bytes is never found", longest)
		}
	})
}

func TestTheWallAndTheClient(t *testing.T) {
	if !AtWall(429, wall()) || AtWall(200, wall()) || AtWall(429, headers{"retry-after": {"3"}}) {
		t.Error("a refusal at the wall is a 429 with the windows' headers")
	}
	if !AtWall(429, says("slow-offer", "control")) {
		t.Error("either arm's offer is made at the wall")
	}
	for _, c := range []struct {
		name                  string
		end                   time.Duration
		passthrough, only, on bool
	}{
		{"far and nothing else", 11 * time.Minute, true, true, true},
		{"ten minutes are near", 10 * time.Minute, true, true, false},
		{"another target is left", time.Hour, true, false, false},
		{"our own login", time.Hour, false, true, false},
	} {
		if got := HandsOnWall(t0, at(c.end), c.passthrough, c.only); got != c.on {
			t.Errorf("ruling 42, %s: %v", c.name, got)
		}
	}
}
