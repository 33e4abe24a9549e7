package cases

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// oat is a subscription's token as a client sends it.
const oat = "sk-ant-oat01-the-clients-own-login"

const laneHeader = "Anthropic-Usage-Limit"

// own is a Claude connection that forwards the client's own login.
func own(in *control.ConnectionInput) {
	in.Provider, in.Credential, in.APIKey = "claude", "passthrough", ""
}

// pasted is a Claude connection with a long-lived token.
func pasted(in *control.ConnectionInput) {
	in.Provider, in.Credential, in.APIKey = "claude", "token", "sk-ant-oat01-pasted"
}

func lowPriority(in *control.ConnectionInput) { in.LowPriorityMode = true }
func autoReset(in *control.ConnectionInput)   { in.AutoLimitReset = true }

// subscribed adds a Claude connection whose account is a subscription, and
// points the side calls at it.
func subscribed(k *scenario.Kit, name string, s simulator.Subscription, more ...func(*control.ConnectionInput)) (control.Connection, *simulator.Account) {
	k.Helper()
	a := k.Sim.Account(name).Subscribe(&s)
	base := strings.TrimSuffix(a.BaseURL(), "/v1")
	if _, err := k.Facade().EditSettings(context.Background(), control.SettingsPatch{ClaudeBaseURL: &base}); err != nil {
		k.Fatal(err)
	}
	return k.Add(name, "claude", more...), a
}

// ask sends a request with the client's own login.
func ask(k *scenario.Kit, headers ...string) scenario.Answer {
	k.Helper()
	return k.Post("/v1/messages", scenario.Messages, append([]string{"Authorization", "Bearer " + oat}, headers...)...)
}

// story is the simulator's log of an account: one word a request, with "slow"
// in front where the header was sent. Looks at the windows are left out.
func story(a *simulator.Account) []string {
	var out []string
	for _, r := range a.Requests() {
		line := r.Answer
		if line == "usage" || line == "" && strings.HasSuffix(r.Path, "/api/oauth/usage") {
			continue // it is made beside the traffic, and may be under way
		}
		if r.Header.Get(laneHeader) != "" {
			line = r.Header.Get(laneHeader) + " " + line
		}
		out = append(out, line)
	}
	return out
}

func wantStory(t *testing.T, a *simulator.Account, want ...string) {
	t.Helper()
	if got := story(a); strings.Join(got, " | ") != strings.Join(want, " | ") {
		t.Errorf("the provider saw\n%s\nwant\n%s", strings.Join(got, " | "), strings.Join(want, " | "))
	}
}

// steps are the kinds and reasons of a request's story.
func steps(a control.Activity) string {
	var out []string
	for _, s := range a.Trace {
		out = append(out, strings.TrimSuffix(fmt.Sprintf("%s %s", s.Kind, s.Reason), " "))
	}
	return strings.Join(out, ", ")
}

// untouched checks that nothing was learned of a connection's failures.
func untouched(t *testing.T, k *scenario.Kit, name string) {
	t.Helper()
	c := k.Connection(name)
	if c.State != control.StateServing || c.RateLimitedUntil != nil || c.BackoffLevel != 0 || len(c.Lockouts) != 0 || c.Failed != 0 {
		t.Errorf("%s is %s until %v, level %d, locks %v, %d failures", name, c.State, c.RateLimitedUntil, c.BackoffLevel, c.Lockouts, c.Failed)
	}
	snap, err := k.Facade().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range snap.Breakers {
		if b.Provider == "claude" && (b.FailureCount != 0 || b.State != "CLOSED") {
			t.Errorf("the breaker is %s after %d failures", b.State, b.FailureCount)
		}
	}
}

// alertsOf collects the alerts from now on but those of low quota, which the
// wall brings along by its nature; the func returns them once there are n.
func alertsOf(t *testing.T, k *scenario.Kit) func(n int) []control.Alert {
	t.Helper()
	events, err := k.Facade().Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return func(n int) []control.Alert {
		var got []control.Alert
		deadline := time.After(10 * time.Second)
		for len(got) < n {
			select {
			case e := <-events:
				if e.Type == control.EventAlert && e.Alert.Kind != control.AlertQuotaLow {
					got = append(got, *e.Alert)
				}
			case <-deadline:
				t.Fatalf("%d alerts, want %d: %+v", len(got), n, got)
			}
		}
		return got
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
