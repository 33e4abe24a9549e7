package cases

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// walled is a subscription at its wall that offers the lane.
var walled = simulator.Subscription{Offer: "treatment"}

// Table X of the Claude sheet, over the wire.
func TestClaudeLane(t *testing.T) {
	t.Run("X1 the same turn completes in the lane", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", walled, own, lowPriority)
		k.Add("beta", "demo")
		heard := alertsOf(t, k)
		if got := ask(k); got.Status != 200 || got.From() != "alpha" {
			t.Fatalf("got %d %s", got.Status, got.Body)
		}
		if got := ask(k); got.Status != 200 || got.From() != "alpha" {
			t.Errorf("the next request got %d from %s", got.Status, got.From())
		}
		wantStory(t, a, "the wall", "slow lane: served", "slow lane: served")
		for _, r := range a.Requests() {
			if n := len(r.Header.Values(laneHeader)); n > 1 {
				t.Errorf("the header was sent %d times", n)
			}
			for name := range r.Header {
				if strings.Contains(strings.ToLower(name), "retry") {
					t.Errorf("a retry header on the wire: %s", name)
				}
			}
		}
		if c := k.Connection("alpha"); c.Lane == nil || c.Lane.State != "active" || c.Lane.RequestsServed != 2 || c.Lane.Until == nil {
			t.Errorf("the lane is shown as %+v", c.Lane)
		}
		if got := heard(1)[0]; got.Kind != control.AlertLaneEntered || got.ConnectionName != "alpha" || got.Until == nil {
			t.Errorf("heard %+v", got)
		}
	})
	t.Run("X2 without the switch the refusal is an ordinary one", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", walled, own)
		if got := ask(k); got.Status != 429 {
			t.Errorf("got %d %s", got.Status, got.Body)
		}
		wantStory(t, a, "the wall")
		if k.Connection("alpha").State != control.StateCooling {
			t.Error("the connection does not cool")
		}
	})
	t.Run("X2 and another connection answers", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", walled, own)
		k.Add("beta", "demo")
		if got := ask(k); got.Status != 200 || got.From() != "beta" {
			t.Errorf("got %d from %s", got.Status, got.From())
		}
		wantStory(t, a, "the wall")
	})
	t.Run("X3 the control arm", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", simulator.Subscription{Offer: "control"}, own, lowPriority)
		if got := ask(k); got.Status != 429 {
			t.Errorf("got %d", got.Status)
		}
		wantStory(t, a, "the wall")
	})
	t.Run("X4 each connection has its own lane", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		c, a := subscribed(k, "alpha", walled, own, lowPriority)
		_, b := subscribed(k, "beta", simulator.Subscription{Free: 1, Offer: "treatment"}, own, lowPriority)
		ask(k)
		if _, err := k.Facade().EditConnection(t.Context(), c.ID, control.ConnectionPatch{Active: new(false)}); err != nil {
			t.Fatal(err)
		}
		if got := ask(k); got.Status != 200 {
			t.Errorf("got %d", got.Status)
		}
		wantStory(t, a, "the wall", "slow lane: served")
		wantStory(t, b, "at full speed")
	})
	t.Run("X5 a request that is refused for itself leaves the lane alone", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", walled, own, lowPriority)
		a.Script(simulator.Status(400).WithBody("application/json", `{"type":"error","error":{"type":"invalid_request_error","message":"context_management: Extra inputs are not permitted"}}`))
		// The client repairs the body itself: it is its own.
		if got := ask(k); got.Status != 400 {
			t.Errorf("got %d", got.Status)
		}
		if got := ask(k); got.Status != 200 {
			t.Errorf("the repaired request got %d", got.Status)
		}
		wantStory(t, a, "status 400", "the wall", "slow lane: served")
	})
	t.Run("X7 count_tokens takes no part", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", walled, own, lowPriority)
		ask(k)
		k.Post("/v1/messages/count_tokens", scenario.NoStream(scenario.Messages), "Authorization", "Bearer "+oat)
		n := 0
		for _, r := range a.Requests() {
			if r.Route == simulator.RouteCountTokens {
				n++
				if r.Header.Get(laneHeader) != "" {
					t.Error("the header was sent")
				}
			}
		}
		if n != 1 {
			t.Errorf("%d counts of tokens", n)
		}
	})
	t.Run("X8 API keys and other providers take no part", func(t *testing.T) {
		for _, provider := range []string{"anthropic", "demo-oauth"} {
			k := scenario.StartFast(t, 1)
			a := k.Sim.Account("alpha").Subscribe(&simulator.Subscription{Offer: "treatment", Reset: true})
			k.Add("alpha", provider)
			if got := k.Post("/v1/messages", scenario.Messages); got.Status != 429 {
				t.Errorf("%s: got %d", provider, got.Status)
			}
			wantStory(t, a, "the wall")
		}
	})
	t.Run("X8 a client that drives its own lane is left alone", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", simulator.Subscription{Offer: "treatment", Busy: 1}, own, lowPriority)
		if got := ask(k, laneHeader, "slow"); got.Status != 429 {
			t.Errorf("got %d", got.Status)
		}
		wantStory(t, a, "slow lane: slot_busy")
		if n := len(a.Requests()[0].Header.Values(laneHeader)); n != 1 {
			t.Errorf("the client's header was sent %d times", n)
		}
	})
	t.Run("X9 the lane comes before the next connection", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", walled, own, lowPriority)
		b := k.Sim.Account("beta")
		k.Add("beta", "demo")
		k.Add("gamma", "demo-oauth")
		if got := ask(k); got.From() != "alpha" {
			t.Errorf("answered by %s", got.From())
		}
		wantStory(t, a, "the wall", "slow lane: served")
		wantStory(t, b)
	})
	t.Run("X11 a refusal that the lane took leaves no trace", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		subscribed(k, "alpha", walled, own, lowPriority)
		ask(k)
		untouched(t, k, "alpha")
		if last := k.Last(); last.Result != "answered" || last.FailedOver || steps(last) != "lane lane_entered, answered" {
			t.Errorf("recorded as %s: %s", last.Result, steps(last))
		}
	})
	t.Run("X12 an ended lane's refusal is judged like any other", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", simulator.Subscription{Offer: "treatment", End: "weekly_limit"}, own, lowPriority)
		heard := alertsOf(t, k)
		if got := ask(k); got.Status != 429 {
			t.Errorf("got %d", got.Status)
		}
		wantStory(t, a, "the wall", "slow lane: weekly_limit")
		if c := k.Connection("alpha"); c.State != control.StateCooling || c.Lane == nil || c.Lane.Reason != "weekly" {
			t.Errorf("alpha is %s, its lane %+v", c.State, c.Lane)
		}
		if s := steps(k.Last()); !strings.Contains(s, "lane lane_ended:weekly, failed") {
			t.Errorf("the story is %s", s)
		}
		if got := heard(2)[1]; got.Kind != control.AlertLaneEnded || got.Reason != "weekly" {
			t.Errorf("heard %+v", got)
		}
	})
	t.Run("X17 the client's login stays with its provider", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		subscribed(k, "alpha", walled, own)
		b := k.Sim.Account("beta")
		k.Add("beta", "demo")
		ask(k)
		for _, r := range b.Requests() {
			for name, v := range r.Header {
				if strings.Contains(strings.Join(v, " "), oat) {
					t.Errorf("%s went to another provider", name)
				}
			}
		}
		if len(b.Requests()) != 1 {
			t.Errorf("beta was asked %d times", len(b.Requests()))
		}
	})
}

// Waits for a slot are honoured in full, and spent by the product.
func TestClaudeLaneWaits(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    simulator.Subscription
		via  string
	}{
		{"T21 slot_busy", simulator.Subscription{Offer: "treatment", Busy: 1}, "slot-busy"},
		{"T26 no capacity", simulator.Subscription{Offer: "treatment", Overloaded: 1}, "capacity-busy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const speed = 60
			k := scenario.StartFast(t, speed)
			_, a := subscribed(k, "alpha", tt.s, own, lowPriority)
			if got := ask(k); got.Status != 200 {
				t.Fatalf("got %d %s", got.Status, got.Body)
			}
			var at []time.Time
			for _, r := range a.Requests() {
				if r.Route == simulator.RouteInference {
					at = append(at, r.At)
				}
			}
			if len(at) != 3 {
				t.Fatalf("the provider saw %v", story(a))
			}
			// 20 s, give or take 30 %.
			if gap := at[2].Sub(at[1]); gap < 13900*time.Millisecond || gap > 26*time.Second+2*speed*time.Second {
				t.Errorf("it came back after %s", gap)
			}
			untouched(t, k, "alpha")
			if s := steps(k.Last()); s != "lane lane_entered, lane "+tt.via+", answered" {
				t.Errorf("the story is %s", s)
			}
		})
	}
}

// busyLane is a subscription whose lane never has a slot.
var busyLane = simulator.Subscription{Offer: "treatment", Busy: 1 << 30}

// inLane begins a request and returns when it waits for a slot.
func inLane(t *testing.T, k *scenario.Kit, ctx context.Context) <-chan scenario.Answer {
	t.Helper()
	out := make(chan scenario.Answer, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.URL+"/v1/messages", strings.NewReader(scenario.Messages))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+oat)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			out <- scenario.Answer{Err: err}
			return
		}
		_ = res.Body.Close()
		out <- scenario.Answer{Status: res.StatusCode, Header: res.Header}
	}()
	k.Until("the request waits for a slot", func() bool { //nolint:contextcheck // the kit has its own
		l := k.Connection("alpha").Lane
		return l != nil && l.Waiting == 1
	})
	return out
}

func TestClaudeLaneWaitsEnd(t *testing.T) {
	t.Run("X10 when the client leaves", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", busyLane, own, lowPriority)
		ctx, leave := context.WithCancel(t.Context())
		out := inLane(t, k, ctx)
		left := time.Now()
		leave()
		k.Until("the connection is free", func() bool { return k.Connection("alpha").InFlight == 0 })
		if d := time.Since(left); d > 2*time.Second {
			t.Errorf("the wait went on for %s", d)
		}
		<-out
		wantStory(t, a, "the wall", "slow lane: slot_busy")
		untouched(t, k, "alpha")
	})
	t.Run("T46 when the switch goes off", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		c, a := subscribed(k, "alpha", busyLane, own, lowPriority)
		k.Add("beta", "demo")
		out := inLane(t, k, t.Context())
		if _, err := k.Facade().EditConnection(t.Context(), c.ID, control.ConnectionPatch{LowPriorityMode: new(false)}); err != nil {
			t.Fatal(err)
		}
		if got := <-out; got.Status != 200 {
			t.Errorf("got %d", got.Status)
		}
		// It goes on without the header, and then as if there were no lane.
		wantStory(t, a, "the wall", "slow lane: slot_busy", "the wall")
		if c := k.Connection("alpha"); c.State != control.StateCooling || c.Lane.Reason != "operator" {
			t.Errorf("alpha is %s, its lane %+v", c.State, c.Lane)
		}
	})
	t.Run("T46 when a person leaves the lane", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		c, a := subscribed(k, "alpha", busyLane, own, lowPriority)
		k.Add("beta", "demo")
		out := inLane(t, k, t.Context())
		if err := k.Facade().LeaveLane(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		if got := <-out; got.Status != 200 {
			t.Errorf("got %d", got.Status)
		}
		wantStory(t, a, "the wall", "slow lane: slot_busy", "the wall")
	})
	t.Run("when the connection is switched off or deleted", func(t *testing.T) {
		for _, how := range []string{"off", "deleted"} {
			k := scenario.StartFast(t, 1)
			c, a := subscribed(k, "alpha", busyLane, own, lowPriority)
			k.Add("beta", "demo")
			out := inLane(t, k, t.Context())
			var err error
			if how == "off" {
				_, err = k.Facade().EditConnection(t.Context(), c.ID, control.ConnectionPatch{Active: new(false)})
			} else {
				err = k.Facade().DeleteConnection(t.Context(), c.ID)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := <-out; got.Status != 200 {
				t.Errorf("%s: got %d", how, got.Status)
			}
			wantStory(t, a, "the wall", "slow lane: slot_busy")
		}
	})
}

// A request that began before the refusal and succeeds after it does not lift
// the cooldown.
func TestLateAnswersKeepTheCooldown(t *testing.T) {
	t.Run("C13", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", simulator.Subscription{}, own)
		release := make(chan struct{})
		a.Script(simulator.OK().HoldAfter(simulator.BeforeHeaders, release))
		early := make(chan scenario.Answer, 1)
		go func() {
			early <- k.Do(http.MethodPost, "/v1/messages", scenario.Messages, "Authorization", "Bearer "+oat)
		}()
		if _, err := a.Await(t.Context(), func(rs []simulator.Request) bool { return len(rs) == 1 }); err != nil {
			t.Fatal(err)
		}
		k.Do(http.MethodPost, "/v1/messages", scenario.Messages, "Authorization", "Bearer "+oat)
		close(release)
		if got := <-early; got.Status != 200 {
			t.Errorf("got %d", got.Status)
		}
		if c := k.Connection("alpha"); c.State != control.StateCooling {
			t.Errorf("alpha is %s", c.State)
		}
	})
}
