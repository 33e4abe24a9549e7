package refusal

import (
	"strings"
	"testing"

	"breakwater/proxy/dialect"
	"breakwater/resilience"
)

func TestUserActionSaysWhatIsWrong(t *testing.T) {
	key := func(name string) Mend { return Mend{name, resilience.MendKey, 401} }
	for _, tt := range []struct {
		name  string
		mends []Mend
		want  string
	}{
		{"one key", []Mend{key("Work")}, "Breakwater: the key of Work was refused (401). Check it in Breakwater."},
		{"two keys", []Mend{key("Work"), key("Home")}, "Breakwater: the keys of Work and Home were refused (401). Check them in Breakwater."},
		{"three keys", []Mend{key("A"), key("B"), key("C")}, "Breakwater: the keys of A, B and C were refused (401). Check them in Breakwater."},
		{"a status that is not known", []Mend{{"Work", resilience.MendKey, 0}}, "Breakwater: the key of Work was refused. Check it in Breakwater."},
		{
			"a key and credit",
			[]Mend{key("Work"), {"Home", resilience.MendCredit, 402}},
			"Breakwater: the key of Work was refused (401); Home has no credit left. Check them in Breakwater.",
		},
		{
			"the rest",
			[]Mend{{"A", resilience.MendAccount, 403}, {"B", resilience.MendMissing, 0}, {"C", resilience.MendAddress, 404}},
			"Breakwater: the account of A is closed by the provider; the key of B is missing on this machine; the address of C is not the provider's API. Check them in Breakwater.",
		},
		{
			"more of the same",
			[]Mend{{"A", resilience.MendCredit, 402}, {"B", resilience.MendCredit, 429}},
			"Breakwater: A and B have no credit left. Check them in Breakwater.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := Request{Dialect: dialect.Chat, Client: dialect.DefaultProfile()}
			if got := q.UserAction(tt.mends); got.Message != tt.want {
				t.Errorf("got %q", got.Message)
			}
		})
	}
}

// No client may end its login, and none may be told to come back.
func TestUserActionStopsEachClient(t *testing.T) {
	headers := map[dialect.Client]map[string]string{
		dialect.ClaudeCode: {"X-Claude-Code-Session-Id": "s"}, dialect.Codex: {"Originator": "codex_exec"},
		dialect.OpenCode: {"User-Agent": "opencode/1"}, dialect.VendorSDK: {"X-Stainless-Lang": "js"},
		dialect.Aider: {"User-Agent": "litellm/1"}, dialect.UnknownAgent: {},
	}
	want := map[dialect.Client]int{
		dialect.ClaudeCode: 402, dialect.Codex: 400, dialect.OpenCode: 400, dialect.VendorSDK: 400, dialect.Aider: 400, dialect.UnknownAgent: 502,
	}
	for client, h := range headers {
		t.Run(string(client), func(t *testing.T) {
			profile := dialect.ProfileOf(func(name string) string { return h[name] })
			q := Request{Dialect: dialect.Responses, Client: profile}
			n := q.UserAction([]Mend{{"Work", resilience.MendKey, 401}})
			a := q.Answer(n)
			if a.Status != want[client] || a.Header.Get("Retry-After") != "" || !strings.Contains(string(a.Body), CodeUserAction) {
				t.Errorf("got %d %v %s", a.Status, a.Header, a.Body)
			}
			q.Relayed = true
			if n := q.UserAction(nil); n.Status != 502 {
				t.Errorf("another Breakwater gets %d", n.Status)
			}
		})
	}
}
