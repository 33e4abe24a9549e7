// Package oauth says when a stored login is due for a refresh or a look, what
// the token endpoint's answer means, and when it is left alone.
package oauth

import (
	"encoding/json"
	"strings"
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/hint"
)

// The figures of a refresh (Claude sheet §3.5, §3.6).
const (
	// Lead is how long before its end an access token is refreshed.
	Lead = 5 * time.Minute
	// Timeout bounds one call of the token endpoint, Attempts how many a refresh
	// makes.
	Timeout  = 30 * time.Second
	Attempts = 3

	minBlock = 5 * time.Second
	maxBlock = 5 * time.Minute
)

// Pause is how long a refresh waits after its nth attempt failed, counted from
// 1: 1 s, 2 s.
func Pause(n int) time.Duration { return time.Duration(n) * time.Second }

// Login is what is stored of an account: secrets all of it.
type Login struct {
	Access  string
	Refresh string
	Expires time.Time // of Access; zero: not known, good until it is refused
	// Organization is the account's, as the token endpoint named it.
	Organization string
}

// stored is the form in which a login is kept.
type stored struct {
	Access       string `json:"accessToken,omitempty"`
	Refresh      string `json:"refreshToken"`
	Expires      int64  `json:"expiresAt,omitempty"` // Unix milliseconds
	Organization string `json:"organizationUUID,omitempty"`
}

// Encode returns the form in which the login is kept.
func (l Login) Encode() string {
	s := stored{Access: l.Access, Refresh: l.Refresh, Organization: l.Organization}
	if !l.Expires.IsZero() {
		s.Expires = l.Expires.UnixMilli()
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return "" // strings and a number can always be encoded
	}
	return string(raw)
}

// Decode reads a login as Encode wrote it.
func Decode(text string) (Login, bool) {
	var s stored
	if json.Unmarshal([]byte(text), &s) != nil || s.Refresh == "" {
		return Login{}, false
	}
	l := Login{Access: s.Access, Refresh: s.Refresh, Organization: s.Organization}
	if s.Expires > 0 {
		l.Expires = time.UnixMilli(s.Expires).UTC()
	}
	return l, true
}

// Usable reports whether the access token still works at a moment.
func (l Login) Usable(now time.Time) bool {
	return l.Access != "" && (l.Expires.IsZero() || now.Before(l.Expires))
}

// Due reports whether the login should be refreshed before it is used.
func (l Login) Due(now time.Time) bool { return !l.Usable(now.Add(Lead)) }

// Form is how the token endpoint takes its parameters.
type Form string

// The forms. OAuth's own is the first.
const (
	URLEncoded Form = "form"
	JSON       Form = "json"
)

// Request returns the body of a refresh and its content type. clientID is
// public and may be empty.
func (l Login) Request(clientID string, f Form) (contentType, body string) {
	if f == JSON {
		fields := map[string]string{"grant_type": "refresh_token", "refresh_token": l.Refresh}
		if clientID != "" {
			fields["client_id"] = clientID
		}
		raw, err := json.Marshal(fields)
		if err != nil {
			return "", "" // strings can always be encoded
		}
		return "application/json", string(raw)
	}
	body = "grant_type=refresh_token&refresh_token=" + escape(l.Refresh)
	if clientID != "" {
		body = "client_id=" + escape(clientID) + "&" + body
	}
	return "application/x-www-form-urlencoded", body
}

// escape makes a text a value of a form.
func escape(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// Meaning is what an answer of the token endpoint means.
type Meaning uint8

// The meanings.
const (
	Refreshed     Meaning = iota // there is a new login
	TryAgain                     // a fault that passes: ask again soon
	Blocked                      // the endpoint wants to be left alone for a while
	Unrecoverable                // the refresh token is no good any more
)

// Answer is an answer of the token endpoint.
type Answer struct {
	Status int
	Header map[string][]string
	Body   []byte
	Failed bool // none came
}

// Read says what an answer to a refresh of l means: the new login of
// Refreshed, how long of Blocked.
func (l Login) Read(now time.Time, a Answer) (next Login, m Meaning, wait time.Duration) {
	switch {
	case a.Failed:
		return l, TryAgain, 0
	case a.Status >= 200 && a.Status < 300:
		if next, ok := l.renewed(now, a.Body); ok {
			return next, Refreshed, 0
		}
		return l, TryAgain, 0
	case a.Status == 429:
		asked := hint.Parse(hint.Input{Status: a.Status, Header: a.Header, Now: now, Ceiling: maxBlock}).Wait
		return l, Blocked, min(max(asked, minBlock), maxBlock)
	case a.Status < 500 && finished(a.Body):
		return l, Unrecoverable, 0
	}
	return l, TryAgain, 0
}

// renewed reads a good answer. Without a refresh token in it the old one stays
// good.
func (l Login) renewed(now time.Time, body []byte) (Login, bool) {
	var in struct {
		Access       string  `json:"access_token"`
		Refresh      string  `json:"refresh_token"`
		ExpiresIn    float64 `json:"expires_in"` // seconds
		Organization struct {
			UUID string `json:"uuid"`
		} `json:"organization"`
	}
	if json.Unmarshal(body, &in) != nil || in.Access == "" {
		return l, false
	}
	next := Login{Access: in.Access, Refresh: l.Refresh, Organization: l.Organization}
	if in.Refresh != "" {
		next.Refresh = in.Refresh
	}
	if in.Organization.UUID != "" {
		next.Organization = in.Organization.UUID
	}
	if in.ExpiresIn > 0 && in.ExpiresIn <= hint.MaxStated.Seconds() {
		next.Expires = clock.Wall(now.Add(time.Duration(in.ExpiresIn * float64(time.Second))))
	}
	return next, true
}

// hopeless are the codes after which no refresh can succeed (Claude sheet §3.6).
var hopeless = map[string]bool{
	"invalid_grant": true, "invalid_request": true, "refresh_token_reused": true, "invalid_token": true,
	"expired_token": true, "unauthorized_client": true, "access_denied": true,
}

// maxNesting is how many JSON documents may be packed into one another.
const maxNesting = 4

// finished reports whether a body names one of these codes, wherever it is:
// some endpoints wrap errors, or encode them twice.
func finished(body []byte) bool {
	var v any
	return json.Unmarshal(body, &v) == nil && names(v, maxNesting)
}

func names(v any, depth int) bool {
	if depth < 0 {
		return false
	}
	switch v := v.(type) {
	case string:
		if hopeless[v] {
			return true
		}
		var inner any
		return strings.HasPrefix(strings.TrimSpace(v), "{") && json.Unmarshal([]byte(v), &inner) == nil && names(inner, depth-1)
	case map[string]any:
		for _, key := range []string{"error", "code", "type", "error_code", "message", "detail", "error_description"} {
			if names(v[key], depth-1) {
				return true
			}
		}
	}
	return false
}
