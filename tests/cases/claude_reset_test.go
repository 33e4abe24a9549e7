package cases

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// resettable is a subscription at its wall that offers both ways on.
var resettable = simulator.Subscription{Offer: "treatment", Reset: true, Busy: 0}

func TestClaudeLimitReset(t *testing.T) {
	t.Run("X6 R4 the claim comes first and the turn is repeated at full speed", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", resettable, own, lowPriority, autoReset)
		heard := alertsOf(t, k)
		if got := ask(k); got.Status != 200 || got.From() != "alpha" {
			t.Fatalf("got %d %s", got.Status, got.Body)
		}
		wantStory(t, a, "the wall", "reset status", "claim: reset", "at full speed")
		for _, r := range a.Requests()[1:3] {
			if r.Header.Get("Authorization") != "Bearer "+oat || r.Header.Get("Anthropic-Beta") != "oauth-2025-04-20" || !strings.HasPrefix(r.Header.Get("User-Agent"), "Breakwater/") {
				t.Errorf("%s with %v", r.Path, r.Header)
			}
		}
		status, claim := a.Requests()[1], a.Requests()[2]
		if status.Method != http.MethodGet || status.Query != "at_wall=1&skip_spend=1" || !strings.HasSuffix(status.Path, "/api/oauth/usage") {
			t.Errorf("the status was asked with %s %s?%s", status.Method, status.Path, status.Query)
		}
		if string(claim.Body) != `{"program":"juniper_tide"}` {
			t.Errorf("claimed with %s", claim.Body)
		}
		untouched(t, k, "alpha")
		c := k.Connection("alpha")
		if c.LimitReset == nil || !c.LimitReset.Granted || c.LimitReset.Next == nil || time.Until(*c.LimitReset.Next) < 6*24*time.Hour {
			t.Errorf("the reset is shown as %+v", c.LimitReset)
		}
		if c.Lane != nil && c.Lane.State == "active" {
			t.Error("the lane was entered too")
		}
		if got := heard(1)[0]; got.Kind != control.AlertResetClaimed || got.Reason != "reset" || got.Until == nil {
			t.Errorf("heard %+v", got)
		}
		if s := steps(k.Last()); s != "lane limit_reset:reset, answered" {
			t.Errorf("the story is %s", s)
		}
	})
	t.Run("R6 T17 not offered: the lane is next, and nobody asks again until then", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		c, a := subscribed(k, "alpha", walled, own, lowPriority, autoReset)
		heard := alertsOf(t, k)
		ask(k)
		wantStory(t, a, "the wall", "reset status", "slow lane: served")
		got := heard(2)
		if got[0].Kind != control.AlertResetUnavailable || got[0].Reason != "not_offered" || got[1].Kind != control.AlertLaneEntered {
			t.Errorf("heard %+v", got)
		}
		if err := k.Facade().LeaveLane(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		ask(k)
		wantStory(t, a, "the wall", "reset status", "slow lane: served", "the wall", "slow lane: served")
		// Ruling 19: "check again" forgets it.
		if err := k.Facade().LeaveLane(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		if err := k.Facade().CheckLimitReset(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		ask(k)
		wantStory(t, a, "the wall", "reset status", "slow lane: served", "the wall", "slow lane: served", "the wall", "reset status", "slow lane: served")
	})
	t.Run("T19 not available and no lane: an ordinary refusal with its body", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", simulator.Subscription{}, own, autoReset)
		got := ask(k)
		if got.Status != 429 || !strings.Contains(got.Body, "rate limit") {
			t.Errorf("got %d %s", got.Status, got.Body)
		}
		wantStory(t, a, "the wall", "reset status")
		if s := steps(k.Last()); !strings.HasPrefix(s, "lane limit_reset:not_offered, failed") {
			t.Errorf("the story is %s", s)
		}
	})
	t.Run("T18 the week's wall is never reset", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", simulator.Subscription{Weekly: true, Reset: true}, own, autoReset)
		if got := ask(k); got.Status != 429 {
			t.Errorf("got %d", got.Status)
		}
		wantStory(t, a, "the wall")
	})
	t.Run("R3 R14 the organisation of the settings, in the path", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		s := resettable
		s.Organization = "org 1"
		_, a := subscribed(k, "alpha", s, own, autoReset, func(in *control.ConnectionInput) { in.OrganizationUUID = "org 1" })
		if got := ask(k); got.Status != 200 {
			t.Errorf("got %d, %v", got.Status, story(a))
		}
		if path := a.Requests()[2].Path; !strings.HasSuffix(path, "/api/organizations/org 1/reset_rate_limits") {
			t.Errorf("claimed at %s", path)
		}
	})
	t.Run("R12 a burst costs one look and one claim", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", resettable, own, autoReset)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if got := k.Do(http.MethodPost, "/v1/messages", scenario.Messages, "Authorization", "Bearer "+oat); got.Status != 200 {
					t.Errorf("got %d", got.Status)
				}
			})
		}
		all.Wait()
		n := map[string]int{}
		for _, line := range story(a) {
			n[line]++
		}
		if n["reset status"] != 1 || n["claim: reset"] != 1 {
			t.Errorf("%v", n)
		}
	})
	t.Run("R9 a side call that fails falls through to the lane", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", resettable, own, lowPriority, autoReset)
		a.Script(simulator.Status(500).For(simulator.When{Route: simulator.RouteOther}).Always())
		if got := ask(k); got.Status != 200 {
			t.Errorf("got %d", got.Status)
		}
		wantStory(t, a, "the wall", "status 500", "slow lane: served")
	})
	t.Run("a redirect of a side call is not followed", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", resettable, own, lowPriority, autoReset)
		evil := k.Sim.Account("evil")
		a.Script(simulator.Status(307).WithHeader("Location", evil.BaseURL()).For(simulator.When{Route: simulator.RouteOther}).Always())
		if got := ask(k); got.Status != 200 {
			t.Errorf("got %d", got.Status)
		}
		if n := len(evil.Requests()); n != 0 {
			t.Errorf("the other host was asked %d times", n)
		}
	})
}

// The attempt at the reset goes on when its first caller leaves, and serves
// whoever waits for it.
func TestClaudeResetSurvivesItsFirstCaller(t *testing.T) {
	k := scenario.StartFast(t, 1)
	_, a := subscribed(k, "alpha", resettable, own, autoReset)
	release := make(chan struct{})
	// The status is held; what comes after it is the subscription's own.
	a.Script(simulator.Status(200).WithBody("application/json",
		`{"juniper_tide":{"eligible":true,"arm":"reset","available":true}}`).HoldAfter(simulator.BeforeHeaders, release).For(simulator.When{Route: simulator.RouteOther}))
	first := k.Dial()
	body := scenario.Messages
	request := "POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + oat + "\r\nContent-Type: application/json\r\nContent-Length: "
	if _, err := first.Write([]byte(request + itoa(len(body)) + "\r\n\r\n" + body)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Await(t.Context(), func(rs []simulator.Request) bool { return len(rs) == 2 }); err != nil {
		t.Fatal(err)
	}
	second := make(chan scenario.Answer, 1)
	go func() {
		second <- k.Do(http.MethodPost, "/v1/messages", scenario.Messages, "Authorization", "Bearer "+oat)
	}()
	if _, err := a.Await(t.Context(), func(rs []simulator.Request) bool { return len(rs) == 3 }); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	k.Until("the first caller is gone", func() bool { return k.Connection("alpha").InFlight == 1 })
	close(release)
	if got := <-second; got.Status != 200 {
		t.Errorf("the second caller got %d", got.Status)
	}
	wantStory(t, a, "the wall", "status 200", "the wall", "claim: reset", "at full speed")
}

// The windows of a subscription are told by its answers, and by the usage
// endpoint only when somebody asks.
func TestClaudeUsage(t *testing.T) {
	usages := func(a *simulator.Account) (n int) {
		for _, r := range a.Requests() {
			if r.Answer == "usage" {
				n++
			}
		}
		return n
	}
	t.Run("headers are enough", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		c, a := subscribed(k, "alpha", simulator.Subscription{Free: 100}, own)
		ask(k)
		ask(k)
		u := k.Connection("alpha").Usage
		if u == nil || u.FiveHour == nil || u.FiveHour.Used != 0.5 || u.FiveHour.Source != "headers" || u.Weekly == nil || u.Weekly.Used != 0.4 || u.FiveHour.Resets == nil {
			t.Fatalf("shown as %+v", u)
		}
		if n := usages(a); n != 0 {
			t.Errorf("the endpoint was asked %d times", n)
		}
		if s := k.Product.Service.Quota().Get(c.ID); s == nil || len(s.Windows) != 2 {
			t.Errorf("the ledger holds %+v", s)
		}
	})
	t.Run("O13 a window that is looked at asks once in 180 s", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		c, a := subscribed(k, "alpha", simulator.Subscription{Free: 100}, pasted)
		a.Script(simulator.Status(429).WithHeader("Retry-After", "0").For(simulator.When{Route: simulator.RouteOther}))
		for range 5 {
			if _, err := k.Facade().ClaudeUsage(t.Context(), c.ID); err != nil {
				t.Fatal(err)
			}
			k.Post("/v1/messages", scenario.Messages)
		}
		if _, err := a.Await(t.Context(), func(rs []simulator.Request) bool {
			n := 0
			for _, r := range rs {
				if r.Route == simulator.RouteOther {
					n++
				}
			}
			return n >= 1
		}); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, r := range a.Requests() {
			if r.Route == simulator.RouteOther {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the endpoint was asked %d times", n)
		}
	})
	t.Run("passthrough asks only with a request's own login", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		c, a := subscribed(k, "alpha", simulator.Subscription{Free: 100}, own)
		if _, err := k.Facade().ClaudeUsage(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		if n := len(a.Requests()); n != 0 {
			t.Errorf("asked %d times without a login", n)
		}
		ask(k)
		if _, err := a.Await(t.Context(), func(rs []simulator.Request) bool { return len(rs) == 2 }); err != nil {
			t.Fatal(err)
		}
		k.Until("the figures are in", func() bool {
			u, err := k.Facade().ClaudeUsage(t.Context(), c.ID)
			return err == nil && u.Extra != nil
		})
		if got := a.Requests()[1]; got.Answer != "usage" || got.Header.Get("Authorization") != "Bearer "+oat {
			t.Errorf("asked with %v", got.Header)
		}
	})
}
