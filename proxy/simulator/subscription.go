package simulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Subscription makes an account a Claude subscription with a five-hour wall:
// its answers carry the windows, at the wall it offers the low-priority lane
// and a limit reset, and it serves the endpoints for them. Times are told by
// the server's clock.
type Subscription struct {
	Free     int           // answers before the wall
	ResetsIn time.Duration // from the first request on; 0 is an hour
	Weekly   bool          // the wall is the week's, not the five hours'

	// Offer is the arm of the lane that refusals name: treatment, control, or
	// empty for no offer.
	Offer string
	// Busy and Overloaded are how many attempts in the lane are told slot_busy,
	// then 529, before one is served.
	Busy, Overloaded    int
	RetryAfter, MaxWait time.Duration // that refusals announce; 0 are 20 s and 20 min
	// End is the slow-status with which the lane refuses everything.
	End string

	// Reset offers the limit reset; it is granted once.
	Reset bool
	// Again is how many answers a granted reset is good for; 0 is without end.
	Again int
	// Organization is the UUID that claims need; empty is the one that answers
	// carry.
	Organization string
}

// organization is what answers carry as the account's.
const organization = "00000000-0000-4000-8000-000000000000"

// subscription is a Subscription with what has become of it.
type subscription struct {
	mu      sync.Mutex
	set     Subscription
	served  int
	began   time.Time
	ends    time.Time // of the present five hours
	granted bool
	claimed bool
	refresh string // the refresh token that is taken
	tokens  int    // access tokens given out
}

// Subscribe makes the account a subscription; nil ends it.
func (a *Account) Subscribe(s *Subscription) *Account {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s == nil {
		a.subscribed = nil
		return a
	}
	next := &subscription{set: *s, refresh: "refresh-0"}
	if next.set.ResetsIn == 0 {
		next.set.ResetsIn = time.Hour
	}
	a.subscribed = next
	return a
}

// FirstRefreshToken is the refresh token that a subscription's token endpoint
// takes first. Each is good for one use.
const FirstRefreshToken = "refresh-0"

func (a *Account) subscription() *subscription {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.subscribed
}

// step answers a request of a subscription; ok is false for what it has no say
// in.
func (s *subscription) step(q *request, usual Step) (st Step, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began.IsZero() {
		s.began = q.now
		s.ends = q.now.Add(s.set.ResetsIn)
	}
	if !q.now.Before(s.ends) {
		s.served, s.granted = 0, true // a new window, and no wall in it
		s.ends = q.now.Add(5 * time.Hour)
	}
	switch path := q.path; {
	case q.route == RouteInference:
		return s.answer(q, usual), true
	case strings.HasSuffix(path, "/api/oauth/usage"):
		return s.usage(q), true
	case strings.HasSuffix(path, "/reset_rate_limits") && q.method == http.MethodPost:
		return s.claim(q), true
	case strings.HasSuffix(path, "/api/claude_cli/bootstrap"):
		return jsonStep("bootstrap", 200, map[string]any{"oauth_account": map[string]any{"organization_uuid": s.organization()}}), true
	case strings.HasSuffix(path, "/oauth/token") && q.method == http.MethodPost:
		return s.token(q), true
	}
	return Step{}, false
}

func (s *subscription) organization() string {
	if s.set.Organization != "" {
		return s.set.Organization
	}
	return organization
}

// walled reports whether the account is at its wall.
func (s *subscription) walled() bool {
	if s.granted {
		return s.claimed && s.set.Again > 0 && s.served >= s.set.Again
	}
	return s.served >= s.set.Free
}

func (s *subscription) answer(q *request, usual Step) Step {
	slow := q.header.Get("Anthropic-Usage-Limit") == "slow"
	if !s.walled() {
		s.served++
		h := s.windows(q.now, "allowed", 0.5)
		if slow {
			h["Slow-Status"] = "not_needed"
		}
		return s.dress(usual, h, "at full speed")
	}
	if !slow {
		h := s.windows(q.now, "rejected", 1)
		if s.set.Offer != "" {
			h["Slow-Offer"] = s.set.Offer
			s.hints(h)
		}
		return s.dress(Status(429), h, "the wall").WithRetryAfter(s.ends.Sub(q.now))
	}
	h := s.windows(q.now, "rejected", 1)
	switch {
	case s.set.End != "":
		h["Slow-Status"] = s.set.End
		return s.dress(Status(429), h, "lane: "+s.set.End)
	case s.set.Busy > 0:
		s.set.Busy--
		h["Slow-Status"] = "slot_busy"
		s.hints(h)
		return s.dress(Status(429), h, "lane: slot_busy")
	case s.set.Overloaded > 0:
		s.set.Overloaded--
		h["Slow-Status"] = "active"
		s.hints(h)
		return s.dress(Status(529), h, "lane: no capacity")
	}
	h["Slow-Status"], h["Slow-Budget-Utilization"] = "active", "0.25"
	h["Slow-Budget-Reset"] = stamp(s.ends)
	return s.dress(usual, h, "lane: served")
}

// hints are the waits that the lane announces.
func (s *subscription) hints(h map[string]string) {
	seconds := func(d, usual time.Duration) string {
		if d == 0 {
			d = usual
		}
		return strconv.Itoa(int(d.Seconds()))
	}
	h["Slow-Retry-After"] = seconds(s.set.RetryAfter, 20*time.Second)
	h["Slow-Max-Wait"] = seconds(s.set.MaxWait, 20*time.Minute)
}

// windows are the headers that every answer carries, without their prefix.
func (s *subscription) windows(now time.Time, status string, used float64) map[string]string {
	session, weekly, reset, claim := status, "allowed", s.ends, "five_hour"
	week := now.Add(4 * 24 * time.Hour)
	if s.set.Weekly {
		session, weekly, reset, claim = "allowed", status, week, "seven_day"
	}
	h := map[string]string{
		"Status": status, "Reset": stamp(reset), "5h-Status": session, "5h-Reset": stamp(s.ends), "5h-Utilization": fmt.Sprint(used),
		"7d-Status": weekly, "7d-Reset": stamp(week), "7d-Utilization": "0.4",
	}
	if status == "rejected" {
		h["Representative-Claim"] = claim
	}
	return h
}

func stamp(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// dress puts the headers on a step and names it for the record.
func (s *subscription) dress(st Step, h map[string]string, note string) Step {
	st.Header = maps.Clone(st.Header)
	if st.Header == nil {
		st.Header = http.Header{}
	}
	for name, value := range h {
		st.Header.Set("Anthropic-Ratelimit-Unified-"+name, value)
	}
	st.Header.Set("Anthropic-Organization-Id", s.organization())
	st.Note = note
	return st
}

// usage is the usage endpoint; at the wall it tells of the limit reset.
func (s *subscription) usage(q *request) Step {
	used := 50.0
	if s.walled() {
		used = 100
	}
	body := map[string]any{
		"five_hour":   map[string]any{"utilization": used, "resets_at": s.ends.UTC().Format(time.RFC3339)},
		"seven_day":   map[string]any{"utilization": 40.0, "resets_at": q.now.Add(4 * 24 * time.Hour).UTC().Format(time.RFC3339)},
		"extra_usage": map[string]any{"is_enabled": false, "disabled_reason": "org_level_disabled"},
	}
	note := "usage"
	if strings.Contains(q.query, "at_wall=1") {
		note = "reset status"
		tide := map[string]any{"eligible": true, "in_experiment": true, "arm": "reset", "available": s.set.Reset && !s.claimed, "resets_per_week": 1}
		if !s.set.Reset {
			tide["arm"] = "control"
		}
		body["juniper_tide"] = tide
	}
	return jsonStep(note, 200, body)
}

// claim grants the limit reset once.
func (s *subscription) claim(q *request) Step {
	switch {
	case !strings.HasSuffix(q.path, "/api/organizations/"+s.organization()+"/reset_rate_limits"),
		!strings.Contains(string(q.body), `"program":"juniper_tide"`):
		return jsonStep("claim refused", 404, map[string]any{"error": "not found"})
	case s.claimed:
		return jsonStep("claim: already used", 200, map[string]any{"result": "already_used"})
	case !s.set.Reset:
		return jsonStep("claim: unavailable", 200, map[string]any{"result": "unavailable"})
	}
	s.claimed, s.granted, s.served = true, true, 0
	return jsonStep("claim: reset", 200, map[string]any{
		"result": "reset", "resets_left": 0, "next_available_at": q.now.Add(7 * 24 * time.Hour).UTC().Format(time.RFC3339),
	})
}

// token refreshes an access token; each refresh token is good for one use.
func (s *subscription) token(q *request) Step {
	if !strings.Contains(string(q.body), s.refresh) {
		return jsonStep("refresh refused", 400, map[string]any{"error": "invalid_grant"})
	}
	s.tokens++
	s.refresh = fmt.Sprintf("refresh-%d", s.tokens)
	return jsonStep("refreshed", 200, map[string]any{
		"access_token": AccessToken(q.account, s.tokens), "refresh_token": s.refresh, "expires_in": 3600,
		"organization": map[string]any{"uuid": s.organization()},
	})
}

// AccessToken is the nth access token that an account's token endpoint gives
// out, counted from 1.
func AccessToken(account string, n int) string { return fmt.Sprintf("sk-ant-oat01-%s-%d", account, n) }

func jsonStep(note string, status int, body map[string]any) Step {
	raw, err := json.Marshal(body)
	if err != nil {
		return Status(http.StatusInternalServerError)
	}
	st := Status(status).WithBody("application/json", string(raw))
	st.Note = note
	return st
}
