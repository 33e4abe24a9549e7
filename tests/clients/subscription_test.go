package clients

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// oat is a login as Claude Code sends one; a fake.
const oat = "sk-ant-oat01-FAKE"

// subscriber is Claude Code, logged in, in front of Breakwater with two
// connections: alpha forwards the login to a subscription, beta has a key.
type subscriber struct {
	*scenario.Kit
	id          string
	alpha, beta *simulator.Account
	began       time.Time
}

// subscribe starts one. The clock of Breakwater and of the provider runs at
// this multiple of the client's.
func subscribe(t *testing.T, speed float64, s simulator.Subscription, more ...func(*control.ConnectionInput)) *subscriber {
	t.Helper()
	k := scenario.StartFast(t, speed)
	p := &subscriber{Kit: k, alpha: k.Sim.Account("alpha").Subscribe(&s), beta: k.Sim.Account("beta"), began: time.Now()}
	base := strings.TrimSuffix(p.alpha.BaseURL(), "/v1")
	if _, err := k.Facade().EditSettings(t.Context(), control.SettingsPatch{ClaudeBaseURL: &base}); err != nil {
		t.Fatal(err)
	}
	p.id = k.Add("alpha", "claude", append([]func(*control.ConnectionInput){func(in *control.ConnectionInput) {
		in.Credential, in.APIKey = "passthrough", ""
	}}, more...)...).ID
	k.Add("beta", "demo")
	return p
}

func lane(in *control.ConnectionInput)  { in.LowPriorityMode = true }
func reset(in *control.ConnectionInput) { in.AutoLimitReset = true }

// turn makes one turn, with a tool call in it, that must succeed for the user.
func (p *subscriber) turn(t *testing.T, limit time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	asked := time.Now()
	got, err := claudeCodeAs(ctx, t, p.URL, toolPrompt, "CLAUDE_CODE_OAUTH_TOKEN="+oat)
	if err != nil {
		t.Fatalf("the user sees a failure: %v\n%s", err, p.log())
	}
	if got.calls != 1 || len(got.retries) != 0 {
		t.Errorf("%d tool calls, retried after %v", got.calls, got.retries)
	}
	t.Logf("the turn took %s, the user reads %q", time.Since(asked).Round(time.Second), got.text)
}

// log is the simulator's log of requests.
func (p *subscriber) log() string {
	var b strings.Builder
	for _, a := range []*simulator.Account{p.alpha, p.beta} {
		rs := a.Requests()
		for _, r := range rs {
			slow := ""
			if v := r.Header.Get("Anthropic-Usage-Limit"); v != "" {
				slow = "anthropic-usage-limit: " + v
			}
			path := r.Path
			if r.Query != "" {
				path += "?" + r.Query
			}
			fmt.Fprintf(&b, "  +%-8s %-4s %-58s %-28s %d %s\n", r.At.Sub(p.alpha.Requests()[0].At).Round(time.Second/10), r.Method, path, slow, r.Status, r.Answer)
		}
	}
	return b.String()
}

// saw checks what the subscription was asked, looks at the windows left out.
func (p *subscriber) saw(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, r := range p.alpha.Requests() {
		line := r.Answer
		if line == "usage" {
			continue
		}
		if r.Header.Get("Anthropic-Usage-Limit") != "" {
			line = "slow " + line
		}
		got = append(got, line)
	}
	if strings.Join(got, " | ") != strings.Join(want, " | ") {
		t.Errorf("the provider saw\n  %s\nwant\n  %s", strings.Join(got, " | "), strings.Join(want, " | "))
	}
	t.Logf("the simulator's log:\n%s", p.log())
}

// calm checks that the connection was not blamed.
func (p *subscriber) calm(t *testing.T) {
	t.Helper()
	if c := p.Connection("alpha"); c.State != control.StateServing || c.Failed != 0 {
		t.Errorf("alpha is %s after %d failures", c.State, c.Failed)
	}
	if n := len(p.beta.Requests()); n != 0 {
		t.Errorf("beta was asked %d times", n)
	}
}

// within looks until ok holds.
func within(limit time.Duration, ok func() bool) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			return false
		}
	}
	return true
}

// sixty makes minutes of the provider pass in seconds of the client.
const sixty = 60

// Claude Code, logged in to a subscription, reaches the five-hour wall in the
// middle of a turn.
func TestClaudeCodeAtTheWall(t *testing.T) {
	if os.Getenv("RUN_CLIENTS") == "" {
		t.Skip("the real clients run only with RUN_CLIENTS=1")
	}
	t.Run("a both switches off: cooldown and failover", func(t *testing.T) {
		p := subscribe(t, 1, simulator.Subscription{Free: 1, Offer: "treatment", Reset: true})
		p.turn(t, turnLimit)
		p.saw(t, "at full speed", "the wall")
		if c := p.Connection("alpha"); c.State != control.StateCooling || len(p.beta.Requests()) != 1 {
			t.Errorf("alpha is %s, beta was asked %d times", c.State, len(p.beta.Requests()))
		}
	})
	t.Run("b the lane: the turn completes on the connection, slowly, until the reset", func(t *testing.T) {
		p := subscribe(t, sixty, simulator.Subscription{
			Free: 1, Offer: "treatment", Busy: 1, RetryAfter: 3 * time.Minute, ResetsIn: 45 * time.Minute,
		}, lane)
		p.turn(t, turnLimit)
		p.calm(t)
		p.saw(t, "at full speed", "the wall", "slow lane: slot_busy", "slow lane: served")
		rs := p.alpha.Requests()
		var at []time.Time
		for _, r := range rs {
			if r.Header.Get("Anthropic-Usage-Limit") != "" {
				at = append(at, r.At)
			}
		}
		if gap := at[1].Sub(at[0]); gap < 125*time.Second {
			t.Errorf("it came back after %s of 180 s, give or take 30 %%", gap)
		}
		if !within(2*time.Minute, func() bool {
			l := p.Connection("alpha").Lane
			return l != nil && l.State != "active" && l.Reason == "reset"
		}) {
			t.Fatal("the lane did not end by the reset")
		}
		p.turn(t, turnLimit)
		p.saw(t, "at full speed", "the wall", "slow lane: slot_busy", "slow lane: served", "at full speed", "at full speed")
	})
	t.Run("c the reset: claimed once, and at full speed again", func(t *testing.T) {
		p := subscribe(t, 1, simulator.Subscription{Free: 1, Offer: "treatment", Reset: true}, reset)
		p.turn(t, turnLimit)
		p.turn(t, turnLimit)
		p.calm(t)
		p.saw(t, "at full speed", "the wall", "reset status", "claim: reset", "at full speed", "at full speed", "at full speed")
	})
	t.Run("d both: the reset first, then the lane", func(t *testing.T) {
		p := subscribe(t, sixty, simulator.Subscription{Free: 1, Offer: "treatment", Reset: true, Again: 2, ResetsIn: 5 * time.Hour}, lane, reset)
		p.turn(t, turnLimit)
		p.turn(t, turnLimit)
		p.calm(t)
		p.saw(t, "at full speed", "the wall", "reset status", "claim: reset", "at full speed", "at full speed", "the wall", "slow lane: served")
	})
	t.Run("e the switch goes off in the lane: cooldown and failover", func(t *testing.T) {
		p := subscribe(t, 1, simulator.Subscription{Free: 1, Offer: "treatment", Busy: 1 << 30}, lane)
		off := make(chan struct{})
		go func() {
			defer close(off)
			if !within(turnLimit, func() bool {
				l := p.Connection("alpha").Lane
				return l != nil && l.Waiting == 1
			}) {
				t.Error("it does not wait for a slot")
			}
			if _, err := p.Facade().EditConnection(t.Context(), p.id, control.ConnectionPatch{LowPriorityMode: new(false)}); err != nil {
				t.Error(err)
			}
		}()
		p.turn(t, turnLimit)
		<-off
		p.saw(t, "at full speed", "the wall", "slow lane: slot_busy", "the wall")
		if c := p.Connection("alpha"); c.State != control.StateCooling || c.Lane == nil || c.Lane.Reason != "operator" || len(p.beta.Requests()) != 1 {
			t.Errorf("alpha is %s, its lane %+v, beta was asked %d times", c.State, c.Lane, len(p.beta.Requests()))
		}
	})
}

// The same with waits of real minutes: the client, which has no clock but its
// own, is still there.
func TestClaudeCodeWaitsForMinutes(t *testing.T) {
	if os.Getenv("RUN_CLIENTS") == "" || os.Getenv("RUN_MINUTES") == "" {
		t.Skip("the long wait runs only with RUN_CLIENTS=1 and RUN_MINUTES=1")
	}
	p := subscribe(t, 1, simulator.Subscription{Free: 1, Offer: "treatment", Busy: 2, RetryAfter: 150 * time.Second}, lane)
	asked := time.Now()
	p.turn(t, 12*time.Minute)
	if d := time.Since(asked); d < 3*time.Minute {
		t.Errorf("the turn took %s", d)
	}
	p.calm(t)
	p.saw(t, "at full speed", "the wall", "slow lane: slot_busy", "slow lane: slot_busy", "slow lane: served")
}
