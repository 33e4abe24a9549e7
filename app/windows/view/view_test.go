package view

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"breakwater/proxy/control"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

// now is a Wednesday.
var now = time.Date(2030, 1, 2, 15, 50, 0, 0, time.UTC)

func in(d time.Duration) *time.Time {
	t := now.Add(d)
	return &t
}

func TestLeftCountsDownBelowTenMinutes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "a moment", 0: "a moment", time.Nanosecond: "1 s", 40 * time.Second: "40 s", 59*time.Second + 1: "60 s",
		61 * time.Second: "1 min 01 s", 245 * time.Second: "4 min 05 s", 599 * time.Second: "9 min 59 s",
		10 * time.Minute: "10 min", 10*time.Minute + 1: "11 min", 59 * time.Minute: "59 min",
	} {
		if got := Left(now.Add(d), now); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestConnectionBadgeTellsStateAndRest(t *testing.T) {
	for name, c := range map[string]struct {
		state control.State
		until *time.Time
		shape Shape
		role  Role
		text  string
	}{
		"serving":            {control.StateServing, nil, ShapeDisc, RoleSuccess, "serving"},
		"serving, stale end": {control.StateServing, in(time.Hour), ShapeDisc, RoleSuccess, "serving"},
		"degraded":           {control.StateDegraded, nil, ShapeHalf, RoleWarning, "degraded"},
		"cooling soon":       {control.StateCooling, in(4 * time.Minute), ShapeHourglass, RoleWarning, "cooling, 4 min 00 s"},
		"cooling long":       {control.StateCooling, in(2 * time.Hour), ShapeHourglass, RoleWarning, "cooling, until 17:50"},
		"cooling for days":   {control.StateCooling, in(41 * time.Hour), ShapeHourglass, RoleWarning, "cooling, until Fri 08:50"},
		"model locked":       {control.StateModelLocked, in(30 * time.Second), ShapeLock, RoleWarning, "model locked, 30 s"},
		"open":               {control.StateOpen, in(40 * time.Second), ShapeBroken, RoleError, "open, probe in 40 s"},
		"open long":          {control.StateOpen, in(2 * time.Hour), ShapeBroken, RoleError, "open, probe at 17:50"},
		"open, end passed":   {control.StateOpen, in(-time.Second), ShapeBroken, RoleError, "open, probe in a moment"},
		"probing":            {control.StateProbing, nil, ShapeDotted, RolePrimary, "probing"},
		"banned":             {control.StateBanned, nil, ShapeCross, RoleError, "banned"},
		"expired":            {control.StateExpired, nil, ShapeCross, RoleError, "expired"},
		"no credit":          {control.StateCreditsExhausted, nil, ShapeCross, RoleError, "no credit"},
		"needs attention":    {control.StateNeedsAttention, nil, ShapeHalf, RoleError, "needs attention"},
		"wrong address":      {control.StateWrongAddress, nil, ShapeCross, RoleError, "wrong address"},
		"off":                {control.StateOff, in(time.Minute), ShapeRing, RoleDisabled, "off"},
	} {
		t.Run(name, func(t *testing.T) {
			b := ConnectionBadge(control.Connection{State: c.state, Until: c.until}, now)
			if b.Shape != c.shape || b.Role != c.role || b.Text() != c.text {
				t.Errorf("%s %s %q, want %s %s %q", b.Shape, b.Role, b.Text(), c.shape, c.role, c.text)
			}
		})
	}
}

// conn is a connection in a state, for sentences.
func conn(name string, s control.State, until *time.Time) control.Connection {
	return control.Connection{ID: name, Name: name, ProviderName: "P", State: s, Until: until, Active: s != control.StateOff, Reason: "rate_limit_exceeded", Source: "header"}
}

func TestOverviewSaysItInOneSentence(t *testing.T) {
	cooling := conn("A", control.StateCooling, in(4*time.Minute+5*time.Second))
	for name, c := range map[string]struct {
		conns  []control.Connection
		paused bool
		title  string
		sub    string
		role   Role
	}{
		"nothing yet": {nil, false, "Nothing to serve with yet", "Add a first connection and point your agent here.", RoleMuted},
		"paused":      {[]control.Connection{cooling}, true, "Paused", "New requests are refused until you resume.", RoleMuted},
		"all off":     {[]control.Connection{conn("A", control.StateOff, nil)}, false, "Every connection is switched off", "Switch one on and the next request goes to it.", RoleMuted},
		"one well":    {[]control.Connection{conn("A", control.StateServing, nil)}, false, "Your connection is serving", "Requests go to A first.", RoleSuccess},
		"two well": {
			[]control.Connection{conn("A", control.StateServing, nil), conn("B", control.StateServing, nil)},
			false,
			"Both connections are serving", "Requests go to A first.", RoleSuccess,
		},
		"one cooling": {
			[]control.Connection{cooling, conn("B", control.StateServing, nil), conn("C", control.StateOff, nil)},
			false,
			"1 of 2 connections are serving", "A: rate limited, back in 4 min 05 s (Retry-After). Requests go to B.", RoleWarning,
		},
		"one degraded": {
			[]control.Connection{conn("A", control.StateDegraded, nil), conn("B", control.StateServing, nil)},
			false,
			"Both connections are serving", "A: P has failed a few times and is watched closely.", RoleWarning,
		},
		"nothing left": {
			[]control.Connection{cooling, conn("B", control.StateOpen, in(40*time.Second))},
			false,
			"Nothing can serve right now", "B is back first, in 40 s.", RoleError,
		},
		"nothing left for long": {
			[]control.Connection{conn("A", control.StateCooling, in(3*time.Hour))},
			false,
			"Nothing can serve right now", "A is back first, at 18:50.", RoleError,
		},
		"nothing comes back": {
			[]control.Connection{conn("A", control.StateBanned, nil)},
			false,
			"Nothing can serve right now", "No connection comes back by itself. Edit one, or add another.", RoleError,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := Overview(control.Snapshot{Connections: c.conns, Paused: c.paused}, now)
			if s.Title != c.title || s.Sub != c.sub || s.Role != c.role {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func TestStoryOfAConnectionNamesWhatHappened(t *testing.T) {
	for name, c := range map[string]struct {
		conn control.Connection
		want string
	}{
		"far":     {conn("A", control.StateCooling, in(30*time.Hour)), "A: rate limited until Thu 21:50 (Retry-After)."},
		"open":    {conn("A", control.StateOpen, in(40*time.Second)), "A: the breaker of P is open, probe in 40 s."},
		"probing": {conn("A", control.StateProbing, nil), "A: one probe request decides whether it serves again."},
		"locked":  {conn("A", control.StateModelLocked, in(time.Minute)), "A: a model is locked, back in 60 s. Its other models serve."},
		"credit":  {conn("A", control.StateCreditsExhausted, nil), "A: no credit is left. Top up, then test."},
		"expired": {conn("A", control.StateExpired, nil), "A: the credential has expired. Edit it, then test."},
		"serving": {conn("A", control.StateServing, nil), "A is serving."},
		"off":     {conn("A", control.StateOff, nil), "A is switched off."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Story(c.conn, now); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestTraceReadsAsAStory(t *testing.T) {
	a := control.Activity{
		At: now.Add(-time.Minute), Method: "POST", Path: "/v1/messages", Client: "claude-code", Model: "claude-sonnet", Stream: true, Status: 200, Result: "answered",
		FailedOver: true, DurationMs: 6310, FirstOutputMs: 2480, RequestBytes: 182_300, ResponseBytes: 9_400,
		Trace: []control.Step{
			{Kind: control.StepSkipped, ConnectionName: "Work", Reason: "cooling", Until: in(4 * time.Minute)},
			{Kind: control.StepFailed, OffsetMs: 2, ConnectionName: "Team", Status: 429, Reason: "rate_limit_exceeded", DurationMs: 340, Until: in(time.Minute)},
			{Kind: control.StepFailed, OffsetMs: 345, ConnectionName: "Third", Reason: "network_error", DurationMs: 20},
			{Kind: control.StepAnswered, OffsetMs: 1124, ConnectionName: "Home", Model: "glm-4.6", Status: 200, DurationMs: 5180},
		},
	}
	want := strings.Join([]string{
		"15:49:00  Claude Code asked for claude-sonnet. POST /v1/messages, streamed, 182 KB",
		"+0 ms  Work was passed over. Cooling, until 15:54:00.",
		"+2 ms  Team said 429. Rate limited after 340 ms, left out until 15:51:00.",
		"+345 ms  Third did not answer. Network error after 20 ms.",
		"+1.1 s  Home answered. As glm-4.6, in 5.2 s.",
		"+6.3 s  Finished, and the client never noticed. First output after 2.5 s, 9 KB in all.",
	}, "\n") + "\n"
	if diff := cmp.Diff(want, Text(Trace(a, now))); diff != "" {
		t.Error(diff)
	}
}

func TestTraceTellsHowItEnded(t *testing.T) {
	for name, c := range map[string]struct {
		act  control.Activity
		want string
	}{
		"refused": {
			control.Activity{Result: "refused", Status: 503, Trace: []control.Step{{Kind: control.StepRefused, Status: 503, Reason: "all_targets_cooling_down", Until: in(time.Minute)}}},
			"Breakwater refused it with 503. Everything is cooling down, the first is back at 15:51:00.",
		},
		"cut": {
			control.Activity{Result: "truncated", Trace: []control.Step{{Kind: control.StepCut, ConnectionName: "Home", Reason: "stream_truncated"}}},
			"The stream from Home broke. Stream was cut short, output had been sent, so nobody else was tried.",
		},
		"left":   {control.Activity{Result: "client_left", Trace: []control.Step{{Kind: control.StepLeft}}}, "The client went away.\n"},
		"failed": {control.Activity{Result: "failed", Status: 502}, "The client got 502."},
		"aider":  {control.Activity{Result: "answered", Client: "aider", Model: "m"}, "aider asked for m."},
		"nobody": {control.Activity{Result: "answered", Client: "unknown", Path: "/v1/models"}, "A client called /v1/models."},
	} {
		t.Run(name, func(t *testing.T) {
			c.act.FirstOutputMs = -1
			if got := Text(Trace(c.act, now)); !strings.Contains(got, c.want) {
				t.Errorf("%q is not in:\n%s", c.want, got)
			}
		})
	}
}

func TestReasonNeverShowsAnUnderscore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.StringMatching(`[a-z]{1,8}(_[a-z]{1,8}){0,3}`).Draw(t, "code")
		if strings.Contains(Reason(code), "_") {
			t.Fatal(Reason(code))
		}
	})
	for code, want := range map[string]string{"": "", "unknown": "", "rate_limit_exceeded": "rate limited", "brand_new": "brand new"} {
		if got := Reason(code); got != want {
			t.Errorf("%q: %q", code, got)
		}
	}
}

func TestMergeKeepsTheNewestFirstWithoutDoubles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		seen := map[int64]bool{}
		var list []control.Activity
		for _, ids := range rapid.SliceOf(rapid.SliceOfN(rapid.Int64Range(1, 30), 0, 5)).Draw(t, "ids") {
			var fresh []control.Activity
			for _, id := range ids {
				seen[id] = true
				fresh = append(fresh, control.Activity{ID: id})
			}
			list = Merge(list, limit, fresh...)
			for i := 1; i < len(list); i++ {
				if list[i-1].ID <= list[i].ID {
					t.Fatalf("order broken: %v", list)
				}
			}
		}
		if len(list) > limit || len(list) > len(seen) || len(seen) <= limit && len(list) != len(seen) {
			t.Fatalf("%d rows of %d ids, limit %d", len(list), len(seen), limit)
		}
	})
}

func TestDraftPatchHoldsOnlyWhatChanged(t *testing.T) {
	p := control.Provider{ID: "claude", Claude: true}
	was := control.Connection{Provider: "claude", Name: "Work", Credential: "token", HasSecret: true, BaseURL: "https://x", Models: []string{"a", "b"}}
	if diff := cmp.Diff(control.ConnectionPatch{}, EditDraft(was).Patch(was, p)); diff != "" {
		t.Error("an untouched draft changes", diff)
	}
	d := EditDraft(was)
	d.Name, d.Key, d.Models, d.LowPriority, d.BaseURL = " Home ", " sk-1 \n", "a", true, "https://mirror"
	name, key, base, models, lane := "Home", "sk-1", "https://mirror", []string{"a"}, true
	want := control.ConnectionPatch{Name: &name, APIKey: &key, BaseURL: &base, Models: &models, LowPriorityMode: &lane}
	if diff := cmp.Diff(want, d.Patch(was, p)); diff != "" {
		t.Error(diff)
	}
	d = EditDraft(was)
	d.Models = ""
	if got := d.Patch(was, p); got.Models == nil || len(*got.Models) != 0 {
		t.Error("emptied models go back to the catalogue's")
	}
}

func TestDraftInputLeavesOutWhatDoesNotApply(t *testing.T) {
	d := Draft{Provider: "claude", Credential: "passthrough", Key: "sk-old", Dialects: []string{"anthropic"}, LowPriority: true}
	in := d.Input(control.Provider{ID: "claude", Claude: true})
	if in.APIKey != "" || in.Dialects != nil || !in.LowPriorityMode {
		t.Errorf("%+v", in)
	}
	in = Draft{Provider: "custom", Credential: "apikey", Key: "k", Dialects: []string{"chat"}, LowPriority: true}.Input(control.Provider{ID: "custom", Custom: true})
	if in.APIKey != "k" || in.Dialects[0] != "chat" || in.LowPriorityMode {
		t.Errorf("%+v", in)
	}
}

func TestGroupSearchesAndSorts(t *testing.T) {
	list := []control.Provider{
		{ID: "claude", Name: "Claude subscription", AuthType: "oauth", Models: []string{"claude-*"}},
		{ID: "anthropic", Name: "Anthropic", AuthType: "apikey", Models: []string{"claude-*"}},
		{ID: "ollama", Name: "Ollama", AuthType: "local"},
		{ID: "custom", Name: "Custom", AuthType: "apikey", Custom: true},
	}
	var titles []string
	for _, g := range Group(list, "") {
		titles = append(titles, g.Title+": "+g.Providers[0].ID)
	}
	if diff := cmp.Diff([]string{"Subscriptions: claude", "With an API key: anthropic", "On this machine: ollama", "Anything else: custom"}, titles); diff != "" {
		t.Error(diff)
	}
	if got := Group(list, " OLLA "); len(got) != 1 || got[0].Providers[0].ID != "ollama" {
		t.Errorf("%+v", got)
	}
	if got := Group(list, "claude-"); len(got) != 2 {
		t.Errorf("a model's name finds its providers: %+v", got)
	}
	if got := Group(list, "nobody"); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestMoveSwapsNeighbours(t *testing.T) {
	s := control.Snapshot{Connections: []control.Connection{{ID: "a"}, {ID: "b"}, {ID: "c"}}}
	for _, c := range []struct {
		id   string
		step int
		want []string
	}{{"b", -1, []string{"b", "a", "c"}}, {"b", 1, []string{"a", "c", "b"}}, {"a", -1, nil}, {"c", 1, nil}, {"x", 1, nil}} {
		if diff := cmp.Diff(c.want, Move(s, c.id, c.step)); diff != "" {
			t.Error(c.id, c.step, diff)
		}
	}
}

func TestConnectionRowsSort(t *testing.T) {
	s := control.Snapshot{Connections: []control.Connection{conn("b", control.StateServing, nil), conn("a", control.StateOff, nil), conn("c", control.StateOpen, nil)}}
	order := func(by Column, reverse bool) string {
		out := ""
		for _, r := range connectionRows(s, by, reverse, now) {
			out += r.Name
		}
		return out
	}
	for _, c := range []struct {
		by      Column
		reverse bool
		want    string
	}{{ByOrder, false, "bac"}, {ByName, false, "abc"}, {ByName, true, "cba"}, {ByState, false, "cba"}} {
		if got := order(c.by, c.reverse); got != c.want {
			t.Errorf("%s: %s, want %s", c.by, got, c.want)
		}
	}
	rows := connectionRows(s, ByName, false, now)
	if !rows[1].First || !rows[2].Last || rows[0].First {
		t.Error("first and last are those of the routing order, however the table is sorted")
	}
}

func TestSetupsFitTheConnections(t *testing.T) {
	s := control.Snapshot{Endpoint: "http://127.0.0.1:7411"}
	if got := Setups(s, ShellPosix)[0].Line; got != "NO_PROXY=127.0.0.1,localhost,::1 ANTHROPIC_BASE_URL=http://127.0.0.1:7411 ANTHROPIC_AUTH_TOKEN=local claude" {
		t.Error(got)
	}
	s.Connections = []control.Connection{{Credential: "passthrough", Active: true}, {DefaultModel: "gpt-5-codex", Dialects: []string{"responses", "chat"}, Active: true}}
	lines := Setups(s, ShellPosix)
	if lines[0].Line != "NO_PROXY=127.0.0.1,localhost,::1 ANTHROPIC_BASE_URL=http://127.0.0.1:7411 claude" {
		t.Error("a passthrough connection needs the client's own sign-in: ", lines[0].Line)
	}
	if !strings.HasPrefix(lines[1].Line, "NO_PROXY=127.0.0.1,localhost,::1 codex -m gpt-5-codex ") || !strings.Contains(lines[1].Line, `wire_api="responses"`) {
		t.Error(lines[1].Line)
	}
	if !strings.HasSuffix(lines[2].Line, "--model openai/gpt-5-codex") {
		t.Error(lines[2].Line)
	}
	for _, l := range lines {
		yaml := l.File && strings.HasPrefix(l.Line, "models:\n") && strings.Contains(l.Line, `noProxy: ["127.0.0.1", "localhost", "::1"]`)
		if !yaml && !strings.HasPrefix(l.Line, "NO_PROXY=127.0.0.1,localhost,::1 ") {
			t.Error("case P58 an outbound proxy of the environment would get the requests: ", l.Line)
		}
	}
}

func TestOffersFindTheKeyInTheEnvironment(t *testing.T) {
	providers := []control.Provider{{ID: "claude", KeyEnv: "CLAUDE_CODE_OAUTH_TOKEN", Claude: true}, {ID: "openai", Name: "OpenAI", KeyEnv: "OPENAI_API_KEY"}, {ID: "anthropic", Name: "Anthropic", KeyEnv: "ANTHROPIC_API_KEY"}}
	env := map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "x"}
	get := func(name string) string { return env[name] }
	if o := Offers(providers, false, "keychain", get)[0]; o.KeyEnv != "" || o.Provider != "anthropic" {
		t.Errorf("%+v", o)
	}
	env["OPENAI_API_KEY"] = "sk"
	if o := Offers(providers, false, "keychain", get)[0]; o.KeyEnv != "OPENAI_API_KEY" || o.Provider != "openai" {
		t.Errorf("%+v", o)
	}
	env["ANTHROPIC_API_KEY"] = "sk"
	if o := Offers(providers, false, "keychain", get)[0]; o.KeyEnv != "ANTHROPIC_API_KEY" || !strings.Contains(o.Title, "ANTHROPIC_API_KEY") {
		t.Errorf("%+v", o)
	}
	if n := len(Offers(providers, false, "keychain", get)); n != 4 {
		t.Error(n, "offers")
	}
}

func TestVerdictNeverRepeatsUpstreamText(t *testing.T) {
	for _, kind := range []string{"ok", "unsupported", "account_deactivated", "upstream_auth_error", "not_api", "upstream_rate_limited", "upstream_unavailable", "token_expired", "network_error", "upstream_error", "auth_missing", "runtime_error", "new"} {
		v := NewVerdict(control.TestResult{Error: "secret words", StatusCode: 401, Diagnosis: control.Diagnosis{Type: kind, Message: "secret words"}})
		if v.Text == "" || strings.Contains(v.Text, "secret") {
			t.Errorf("%s: %q", kind, v.Text)
		}
	}
	if v := NewVerdict(control.TestResult{Valid: true, LatencyMs: 312}); v.Role != RoleSuccess || v.Text != "The provider accepted the credential (312 ms)." {
		t.Errorf("%+v", v)
	}
}

func TestActivityLineCounts(t *testing.T) {
	ok, over, bad := control.Activity{Result: "answered"}, control.Activity{Result: "answered", FailedOver: true}, control.Activity{Result: "failed"}
	for want, list := range map[string][]control.Activity{
		"Nothing has come in yet.":                                                             nil,
		"The last 2 requests were answered at the first try.":                                  {ok, ok},
		"Of the last 2 requests all were answered, 1 by another connection than the first.":    {ok, over},
		"Of the last 3 requests, answered by another connection than the first: 1, failed: 1.": {ok, over, bad},
	} {
		if got := ActivityLine(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCountingEndsWithTheLastDeadline(t *testing.T) {
	s := control.Snapshot{Connections: []control.Connection{conn("A", control.StateCooling, in(time.Second))}}
	if !Counting(s, now) || Counting(s, now.Add(time.Second)) {
		t.Error("counts until the deadline and no longer")
	}
	s = control.Snapshot{Breakers: []control.Breaker{{Until: in(time.Second)}}}
	if !Counting(s, now) || Counting(control.Snapshot{}, now) {
		t.Error("breakers count too")
	}
}

func TestSpansAndSizesAreShort(t *testing.T) {
	for ms, want := range map[int64]string{-1: "0 ms", 0: "0 ms", 320: "320 ms", 2140: "2.1 s", 48_200: "48 s", 200_000: "3 min 20 s"} {
		if got := Span(ms); got != want {
			t.Errorf("%d: %q, want %q", ms, got, want)
		}
	}
	for n, want := range map[int64]string{812: "812 B", 41_200: "41 KB", 2_340_000: "2.3 MB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func connectionRows(s control.Snapshot, by Column, reverse bool, now time.Time) []ConnectionRow {
	var out []ConnectionRow
	for _, c := range SortConnections(s.Connections, by, reverse) {
		out = append(out, RowOf(c, &s, now))
	}
	return out
}
