package claude

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	offered = `{"juniper_tide":{"eligible":true,"in_experiment":true,"arm":"reset","available":true,"resets_per_week":1}}`
	granted = `{"result":"reset"}`
)

func tide(fields string) string {
	return `{"juniper_tide":{"eligible":true,"arm":"reset",` + fields + `}}`
}

// desk is a fake upstream of the side calls, which remembers what it was asked.
type desk struct {
	resets                   *Resets
	status, bootstrap, claim Reply
	mu                       sync.Mutex
	calls                    []string
	notes                    []ResetChange
}

func answer(code int, body string) Reply { return Reply{Status: code, Body: []byte(body)} }

func newDesk() *desk {
	d := &desk{
		status: answer(200, offered), claim: answer(200, granted),
		bootstrap: answer(200, `{"oauth_account":{"organization_uuid":"boot-org"}}`),
	}
	d.resets = NewResets(func(c ResetChange) { d.notes = append(d.notes, c) })
	return d
}

// ask makes one whole attempt, as the caller does.
func (d *desk) ask(now time.Time, organization string) Step {
	c := d.resets.Begin(keyOfTest, organization)
	s := c.Start(now)
	for s.Do != Done {
		d.mu.Lock()
		d.calls = append(d.calls, s.Call.Method+" "+BaseURL+s.Call.Path+" "+s.Call.Body)
		d.mu.Unlock()
		s = c.Feed(now, map[Do]Reply{AskStatus: d.status, AskOrganization: d.bootstrap, PostClaim: d.claim}[s.Do])
	}
	return s
}

// want asks and checks outcome and number of calls.
func (d *desk) want(t *testing.T, now time.Time, o Outcome, calls int) Step {
	t.Helper()
	before := len(d.calls)
	s := d.ask(now, "org")
	if got := len(d.calls) - before; s.Outcome != o || got != calls {
		t.Errorf("at %s: %s after %d calls, want %s after %d", now.Sub(t0), s.Outcome, got, o, calls)
	}
	return s
}

// memo checks that for a while, and no longer, the upstream is not asked.
func (d *desk) memo(t *testing.T, wait time.Duration) {
	t.Helper()
	before := len(d.calls)
	if s := d.ask(at(wait-time.Millisecond), "org"); s.Outcome != OutcomeMemoSkip || len(d.calls) != before || !s.Next.Equal(at(wait)) {
		t.Errorf("just before %s: %+v after %d calls", wait, s, len(d.calls)-before)
	}
	if d.ask(at(wait), "org"); len(d.calls) == before {
		t.Errorf("after %s nobody was asked", wait)
	}
}

func TestSideCallBodies(t *testing.T) {
	t.Run("R1 the status block", func(t *testing.T) {
		for _, body := range []string{
			``, `{}`, `[]`, `null`, `{"juniper_tide":null}`, `{"juniper_tide":[]}`, `{"juniper_tide":{"arm":"reset"}}`,
			`{"juniper_tide":{"eligible":"true"}}`, `{"nested":` + offered + `}`,
		} {
			if got, ok := ParseStatus([]byte(body)); ok || got != (Tide{}) {
				t.Errorf("%s reads as %+v", body, got)
			}
		}
		got, ok := ParseStatus([]byte(`{"five_hour":null,"juniper_tide":{"eligible":true,"ineligible_reason":"plan","in_experiment":true,
			"arm":"reset","available":true,"next_available_at":"2027-01-20T08:00:00.5Z","weekly_resets_at":"2027-01-22T10:00:00+02:00","resets_per_week":2}}`))
		want := Tide{
			Eligible: true, IneligibleReason: "plan", InExperiment: true, Arm: "reset", Available: true, ResetsPerWeek: 2,
			NextAvailableAt: time.Date(2027, 1, 20, 8, 0, 0, 5e8, time.UTC), WeeklyResetsAt: time.Date(2027, 1, 22, 8, 0, 0, 0, time.UTC),
		}
		if !ok || !got.NextAvailableAt.Equal(want.NextAvailableAt) || !got.WeeklyResetsAt.Equal(want.WeeklyResetsAt) || !got.Offered() {
			t.Errorf("%+v", got)
		}
		got.NextAvailableAt, got.WeeklyResetsAt = want.NextAvailableAt, want.WeeklyResetsAt
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		got, ok = ParseStatus([]byte(`{"juniper_tide":{"eligible":true,"arm":"x","available":true,"resets_per_week":-1}}`))
		if !ok || got.Arm != "" || got.ResetsPerWeek != 1 || got.Offered() {
			t.Errorf("%+v", got)
		}
	})
	t.Run("R2 results that nobody knows", func(t *testing.T) {
		for _, body := range []string{`{"result":"weird"}`, `{"result":null}`, `{}`, `oops`, `[1]`, `{"result":"recent_reset"}`} {
			if a := ParseClaim([]byte(body)); a.Outcome != OutcomeUnavailable || a.ResetsLeft != -1 {
				t.Errorf("%s reads as %+v", body, a)
			}
		}
		a := ParseClaim([]byte(`{"result":"cooldown","cooldown_until":"2027-01-15T09:00:00Z","weekly_resets_at":"2027-01-16T09:00:00Z","resets_left":0}`))
		if a.Outcome != OutcomeCooldown || a.NextAvailableAt.IsZero() || a.WeeklyResetsAt.IsZero() || a.ResetsLeft != 0 {
			t.Errorf("%+v", a)
		}
	})
	t.Run("R3 the organisation is escaped", func(t *testing.T) {
		for org, want := range map[string]string{
			"org 1": "org%201", "a/b?c#d": "a%2Fb%3Fc%23d", "é": "%C3%A9", "00-aa_.~": "00-aa_.~",
		} {
			if got := claimCall(org).Path; got != "/api/organizations/"+want+"/reset_rate_limits" {
				t.Errorf("%q -> %s", org, got)
			}
		}
	})
	t.Run("where an organisation may be found", func(t *testing.T) {
		for body, want := range map[string]string{
			`{"oauth_account":{"organization_uuid":"a"},"organization":{"uuid":"b"}}`: "a", `{"organization":{"uuid":"b"}}`: "b",
			`{"oauth_account":{"organization_uuid":7}}`: "", ``: "",
		} {
			if got := ParseOrganization([]byte(body)); got != want {
				t.Errorf("%s -> %q", body, got)
			}
		}
		if got := Organization(headers{"ANTHROPIC-Organization-Id": {" o1 "}, "x": {"y"}}); got != "o1" {
			t.Errorf("header -> %q", got)
		}
	})
	t.Run("the limits of the calls", func(t *testing.T) {
		for _, c := range []struct {
			call    SideCall
			timeout time.Duration
			headers int
		}{
			{statusCall(), 5 * time.Second, 3},
			{claimCall("o"), 25 * time.Second, 3},
			{bootstrapCall(), 10 * time.Second, 1},
			{UsageCall(), 10 * time.Second, 1},
		} {
			if c.call.Timeout != c.timeout || len(c.call.Header) != c.headers || c.call.Header["Anthropic-Beta"][0] != "oauth-2025-04-20" {
				t.Errorf("%+v", c.call)
			}
		}
	})
}

func TestReset(t *testing.T) {
	week := 7 * 24 * time.Hour
	once := newDesk()
	t.Run("R4 granted", func(t *testing.T) {
		s := once.want(t, t0, OutcomeReset, 2)
		if !s.Granted() || !s.Next.Equal(at(week)) {
			t.Errorf("%+v", s)
		}
		want := "GET https://api.anthropic.com/api/oauth/usage?at_wall=1&skip_spend=1 \n" +
			`POST https://api.anthropic.com/api/organizations/org/reset_rate_limits {"program":"juniper_tide"}`
		if got := strings.Join(once.calls, "\n"); got != want {
			t.Errorf("calls:\n%s", got)
		}
	})
	t.Run("R13 the grant serves those beside it", func(t *testing.T) {
		for _, after := range []time.Duration{5 * time.Second, 60 * time.Second} {
			if s := once.want(t, at(after), OutcomeRecentReset, 0); !s.Granted() {
				t.Errorf("%+v", s)
			}
		}
		if s := once.want(t, at(60_001*time.Millisecond), OutcomeMemoSkip, 0); s.Granted() {
			t.Errorf("%+v", s)
		}
	})
	t.Run("R5 nothing is asked within the week", func(t *testing.T) {
		once.want(t, at(2*time.Minute), OutcomeMemoSkip, 0)
		once.memo(t, week)
		if len(once.notes) != 2 || once.notes[0] != (ResetChange{Key: keyOfTest, At: t0, Outcome: OutcomeReset, Next: at(week)}) {
			t.Errorf("notes %+v", once.notes)
		}
	})
	t.Run("R6 not offered until a date", func(t *testing.T) {
		d := newDesk()
		d.status = answer(200, tide(`"available":false,"next_available_at":"`+at(40*time.Hour).Format(time.RFC3339)+`"`))
		d.want(t, t0, OutcomeNotOffered, 1)
		d.memo(t, 40*time.Hour)
	})
	t.Run("R7 not offered, no date", func(t *testing.T) {
		for _, date := range []string{"", `,"next_available_at":"` + t0.Format(time.RFC3339) + `"`, `,"next_available_at":"soon"`} {
			d := newDesk()
			d.status = answer(200, tide(`"available":false`+date))
			d.want(t, t0, OutcomeNotOffered, 1)
			d.memo(t, week) // ruling 19: a week, where the row says 15 minutes
		}
	})
	t.Run("R8 the control arm claims nothing", func(t *testing.T) {
		d := newDesk()
		d.status = answer(200, `{"juniper_tide":{"eligible":true,"arm":"control","available":true}}`)
		d.want(t, t0, OutcomeNotOffered, 1)
		d.status = answer(200, `{"juniper_tide":{"eligible":false,"arm":"reset","available":true}}`)
		d.want(t, at(week), OutcomeNotOffered, 1)
	})
	for id, r := range map[string]Reply{
		"R9 status 500": answer(500, offered), "R16 status hangs": {Failed: true}, "R9 no block": answer(200, `{}`),
		"R9 redirect": answer(302, offered),
	} {
		t.Run(id, func(t *testing.T) {
			d := newDesk()
			d.status = r
			d.want(t, t0, OutcomeNoStatus, 1)
			d.memo(t, 15*time.Minute)
		})
	}
	t.Run("R16 falls through to the lane", func(t *testing.T) {
		d, b := newDesk(), newBench(t)
		d.status = Reply{Failed: true}
		r := b.open(t0, bothOn)
		b.want(b.call(r, t0, 429, wall()), askReset)
		b.want(r.AfterReset(at(statusTimeout), d.ask(at(statusTimeout), "org").Granted()), accepted)
	})
	t.Run("R10 already used", func(t *testing.T) {
		d := newDesk()
		d.claim = answer(200, `{"result":"already_used"}`)
		if s := d.want(t, t0, OutcomeAlreadyUsed, 2); s.Granted() {
			t.Errorf("%+v", s)
		}
		d.want(t, at(6*24*time.Hour), OutcomeMemoSkip, 0)
		d.memo(t, week)
	})
	t.Run("already used until a date", func(t *testing.T) {
		for _, field := range []string{"next_available_at", "cooldown_until"} {
			d := newDesk()
			d.claim = answer(200, fmt.Sprintf(`{"result":"already_used",%q:%q}`, field, at(50*time.Hour).Format(time.RFC3339)))
			d.want(t, t0, OutcomeAlreadyUsed, 2)
			d.memo(t, 50*time.Hour)
		}
	})
	t.Run("a date beyond all reason is clamped", func(t *testing.T) { // ruling 10
		d := newDesk()
		d.claim = answer(200, `{"result":"already_used","next_available_at":"9000-01-01T00:00:00Z"}`)
		d.want(t, t0, OutcomeAlreadyUsed, 2)
		d.memo(t, 30*24*time.Hour)
	})
	for _, c := range []struct {
		id   string
		r    Reply
		want Outcome
	}{
		{"R11 401", answer(401, granted), OutcomeAuthError},
		{"R11 403", answer(403, granted), OutcomeAuthError},
		{"R11 429", answer(429, granted), OutcomeRateLimited},
		{"R11 500", answer(500, granted), OutcomeError},
		{"R11 no answer", Reply{Failed: true, Status: 200, Body: []byte(granted)}, OutcomeError},
		{"R17 cooldown", answer(200, `{"result":"cooldown","cooldown_until":"2027-02-01T00:00:00Z"}`), OutcomeCooldown},
		{"ineligible", answer(200, `{"result":"ineligible"}`), OutcomeIneligible},
		{"unavailable", answer(200, `{"result":"unavailable"}`), OutcomeUnavailable},
		{"weird", answer(200, `{"result":"weird"}`), OutcomeUnavailable},
	} {
		t.Run(c.id, func(t *testing.T) {
			d := newDesk()
			d.claim = c.r
			if s := d.want(t, t0, c.want, 2); s.Granted() {
				t.Errorf("%+v", s)
			}
			d.memo(t, 15*time.Minute)
		})
	}
	t.Run("R14 not limited, organisation in snake case", func(t *testing.T) {
		d := newDesk()
		d.claim = answer(200, `{"result":"not_limited"}`)
		org := ReadData(map[string]any{"organization_uuid": "snake"}).Organization
		if s := d.ask(t0, org); s.Outcome != OutcomeNotLimited || !s.Granted() || !strings.Contains(d.calls[1], "/snake/") {
			t.Errorf("%+v, calls %q", s, d.calls)
		}
	})
	t.Run("R15 bootstrap names the organisation", func(t *testing.T) {
		d := newDesk()
		if s := d.ask(t0, ""); s.Outcome != OutcomeReset || len(d.calls) != 3 || d.calls[1] != "GET https://api.anthropic.com/api/claude_cli/bootstrap " ||
			!strings.Contains(d.calls[2], "/boot-org/") {
			t.Errorf("%+v, calls %q", s, d.calls)
		}
		d.calls = nil
		if s := d.ask(at(week), ""); s.Outcome != OutcomeReset || len(d.calls) != 2 {
			t.Errorf("asked again: %+v, calls %q", s, d.calls)
		}
	})
	for name, r := range map[string]Reply{
		"fails": answer(500, ``), "does not know": answer(200, `{"oauth_account":{}}`), "hangs": {Failed: true},
		"climbs": answer(200, `{"oauth_account":{"organization_uuid":".."}}`),
	} {
		t.Run("R15 bootstrap "+name, func(t *testing.T) {
			d := newDesk()
			d.bootstrap = r
			if s := d.ask(t0, ""); s.Outcome != OutcomeNoOrganization || len(d.calls) != 2 {
				t.Errorf("%+v, calls %q", s, d.calls)
			}
			d.memo(t, 15*time.Minute)
		})
	}
	t.Run("R12 three at once", func(t *testing.T) {
		d := newDesk()
		// The caller's single flight: one attempt at a time, and memory serves the rest.
		var flight sync.Mutex
		steps := make([]Step, 3)
		var wg sync.WaitGroup
		for i := range steps {
			wg.Go(func() {
				flight.Lock()
				defer flight.Unlock()
				steps[i] = d.ask(t0, "org")
			})
		}
		wg.Wait()
		for _, s := range steps {
			if !s.Granted() {
				t.Errorf("%+v", s)
			}
		}
		if len(d.calls) != 2 {
			t.Errorf("calls %q", d.calls)
		}
	})
	t.Run("two that are not kept apart claim once", func(t *testing.T) {
		d := newDesk()
		late := d.resets.Begin(keyOfTest, "org")
		late.Start(t0)
		d.want(t, t0, OutcomeReset, 2)
		if s := late.Feed(at(time.Second), d.status); s.Outcome != OutcomeRecentReset || !s.Granted() {
			t.Errorf("%+v", s)
		}
		if s := late.Feed(at(time.Second), d.claim); s.Outcome != OutcomeRecentReset {
			t.Errorf("a reply after the end: %+v", s)
		}
	})
}

func TestResetViews(t *testing.T) {
	t.Run("ruling 19 check again", func(t *testing.T) {
		d := newDesk()
		d.status = answer(200, tide(`"available":false`))
		d.want(t, t0, OutcomeNotOffered, 1)
		d.resets.CheckAgain("c2")
		d.want(t, at(time.Second), OutcomeMemoSkip, 0)
		d.resets.CheckAgain("c1")
		if st := d.resets.Status(at(time.Second), "c1"); !st[0].Next.IsZero() {
			t.Errorf("%+v", st)
		}
		d.want(t, at(time.Second), OutcomeNotOffered, 1)
	})
	t.Run("status", func(t *testing.T) {
		d := newDesk()
		weekly := at(30 * time.Hour)
		d.status = answer(200, tide(`"available":true,"weekly_resets_at":"`+weekly.Format(time.RFC3339)+`"`))
		d.claim = answer(200, `{"result":"reset","resets_left":0}`)
		d.want(t, t0, OutcomeReset, 2)
		st := d.resets.Status(at(time.Minute), "c1")
		if len(st) != 1 || st[0].Outcome != OutcomeReset || !st[0].At.Equal(t0) || !st[0].Next.Equal(at(7*24*time.Hour)) ||
			st[0].ResetsLeft != 0 || !st[0].WeeklyResetsAt.Equal(weekly) || !st[0].Tide.Offered() {
			t.Errorf("%+v", st)
		}
		d.resets.Forget("c1")
		if st := d.resets.Status(t0, "c1"); len(st) != 0 {
			t.Errorf("%+v", st)
		}
		d.want(t, at(time.Minute), OutcomeReset, 2)
	})
	t.Run("nobody need listen", func(t *testing.T) {
		d := newDesk()
		d.resets = NewResets(nil)
		d.want(t, t0, OutcomeReset, 2)
	})
}
