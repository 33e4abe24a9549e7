package oauth

import (
	"testing"
	"time"
)

var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func TestLoginIsKept(t *testing.T) {
	for _, l := range []Login{
		{Refresh: "r"},
		{Access: "a", Refresh: "r", Expires: t0, Organization: "o"},
	} {
		if got, ok := Decode(l.Encode()); !ok || got != l {
			t.Errorf("%+v became %+v, %v", l, got, ok)
		}
	}
	for _, bad := range []string{"", "x", "{}", `{"accessToken":"a"}`, "[]"} {
		if _, ok := Decode(bad); ok {
			t.Errorf("%q is a login", bad)
		}
	}
}

func TestWhenALoginIsDue(t *testing.T) {
	for _, tt := range []struct {
		name        string
		l           Login
		usable, due bool
	}{
		{"no access token", Login{Refresh: "r"}, false, true},
		{"no end known", Login{Access: "a"}, true, false},
		{"an hour left", Login{Access: "a", Expires: t0.Add(time.Hour)}, true, false},
		{"just over the lead", Login{Access: "a", Expires: t0.Add(Lead + time.Millisecond)}, true, false},
		{"the lead left", Login{Access: "a", Expires: t0.Add(Lead)}, true, true},
		{"over", Login{Access: "a", Expires: t0}, false, true},
	} {
		if u, d := tt.l.Usable(t0), tt.l.Due(t0); u != tt.usable || d != tt.due {
			t.Errorf("%s: usable %v, due %v", tt.name, u, d)
		}
	}
}

func TestRefreshRequest(t *testing.T) {
	l := Login{Refresh: "r/1 +"}
	for _, tt := range []struct {
		client     string
		form       Form
		kind, body string
	}{
		{"id", URLEncoded, "application/x-www-form-urlencoded", "client_id=id&grant_type=refresh_token&refresh_token=r%2F1%20%2B"},
		{"", URLEncoded, "application/x-www-form-urlencoded", "grant_type=refresh_token&refresh_token=r%2F1%20%2B"},
		{"id", JSON, "application/json", `{"client_id":"id","grant_type":"refresh_token","refresh_token":"r/1 +"}`},
	} {
		if kind, body := l.Request(tt.client, tt.form); kind != tt.kind || body != tt.body {
			t.Errorf("%s %s", kind, body)
		}
	}
}

func TestAnswersOfTheTokenEndpoint(t *testing.T) {
	old := Login{Access: "a0", Refresh: "r0", Organization: "o0"}
	after := func(h string) map[string][]string { return map[string][]string{"Retry-After": {h}} }
	for _, tt := range []struct {
		name string
		a    Answer
		want Meaning
		wait time.Duration
		next Login
	}{
		{"a new pair", Answer{Status: 200, Body: []byte(`{"access_token":"a1","refresh_token":"r1","expires_in":3600,"organization":{"uuid":"o1"}}`)}, Refreshed, 0, Login{"a1", "r1", t0.Add(time.Hour), "o1"}},
		{"O2 no refresh token keeps the old one", Answer{Status: 200, Body: []byte(`{"access_token":"a1"}`)}, Refreshed, 0, Login{"a1", "r0", time.Time{}, "o0"}},
		{"an end beyond reason is none", Answer{Status: 200, Body: []byte(`{"access_token":"a1","expires_in":1e300}`)}, Refreshed, 0, Login{"a1", "r0", time.Time{}, "o0"}},
		{"no token at all", Answer{Status: 200, Body: []byte(`{}`)}, TryAgain, 0, old},
		{"O4 invalid_grant", Answer{Status: 400, Body: []byte(`{"error":"invalid_grant"}`)}, Unrecoverable, 0, old},
		{"O4 nested in a string", Answer{Status: 400, Body: []byte(`{"error":{"message":"{\"error\":\"invalid_grant\"}"}}`)}, Unrecoverable, 0, old},
		{"O4 encoded twice", Answer{Status: 401, Body: []byte(`"{\"error\":{\"type\":\"refresh_token_reused\"}}"`)}, Unrecoverable, 0, old},
		{"a word in prose is no code", Answer{Status: 400, Body: []byte(`{"error":"the invalid_grant was not meant"}`)}, TryAgain, 0, old},
		{"never server_error", Answer{Status: 400, Body: []byte(`{"error":"server_error"}`)}, TryAgain, 0, old},
		{"never slow_down", Answer{Status: 400, Body: []byte(`{"error":"slow_down"}`)}, TryAgain, 0, old},
		{"O5 503, whatever it says", Answer{Status: 503, Body: []byte(`{"error":"invalid_grant"}`)}, TryAgain, 0, old},
		{"nothing came", Answer{Failed: true}, TryAgain, 0, old},
		{"429 without a time", Answer{Status: 429}, Blocked, 5 * time.Second, old},
		{"429 for a minute", Answer{Status: 429, Header: after("60")}, Blocked, time.Minute, old},
		{"429 for an hour", Answer{Status: 429, Header: after("3600")}, Blocked, 5 * time.Minute, old},
	} {
		t.Run(tt.name, func(t *testing.T) {
			next, m, wait := old.Read(t0, tt.a)
			if m != tt.want || wait != tt.wait || next != tt.next {
				t.Errorf("%d, %s, %+v", m, wait, next)
			}
		})
	}
	if Pause(1) != time.Second || Pause(2) != 2*time.Second {
		t.Error("the pauses are wrong")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(200, []byte(`{"access_token":"a","expires_in":1}`))
	f.Add(400, []byte(`{"error":{"message":"{\"error\":\"invalid_grant\"}"}}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		old := Login{Access: "a0", Refresh: "r0"}
		next, m, wait := old.Read(t0, Answer{Status: status, Body: body})
		switch {
		case m != Refreshed && next != old:
			t.Errorf("a refresh that failed left %+v", next)
		case m == Refreshed && (next.Access == "" || next.Refresh == ""):
			t.Errorf("a refresh left %+v", next)
		case (m == Blocked) != (wait > 0):
			t.Errorf("%d for %s", m, wait)
		}
	})
}
