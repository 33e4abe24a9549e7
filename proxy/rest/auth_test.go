package rest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/client/facadetest"
)

func TestManagementAuth(t *testing.T) {
	type header map[string]string
	for _, tc := range []struct {
		name   string
		header header
		path   string
		status int
		want   string
	}{
		{"case 149 no credentials", header{"Authorization": ""}, "", 401, "AUTH_001"},
		{"case 150 bearer garbage", header{"Authorization": "Bearer garbage"}, "", 403, "Invalid management token"},
		{"bearer", nil, "", 200, `"endpoint"`},
		{"bearer in another case", header{"Authorization": "bearer  " + testToken}, "", 200, ""},
		{"our own header", header{"Authorization": "", "X-Breakwater-Key": testToken}, "", 200, ""},
		{"our own header beside a foreign bearer", header{"Authorization": "Bearer sk-ant-oat01-x", "X-Breakwater-Key": testToken}, "", 200, ""},
		{"a wrong key beside the right bearer", header{"X-Breakwater-Key": "wrong"}, "", 200, ""},
		{"wrong key", header{"Authorization": "", "X-Breakwater-Key": "wrong"}, "", 403, ""},
		{"the beginning of the token", header{"Authorization": "Bearer " + testToken[:len(testToken)-1]}, "", 403, ""},
		{"the token and more", header{"Authorization": "Bearer " + testToken + "x"}, "", 403, ""},
		{"an empty bearer", header{"Authorization": "Bearer "}, "", 401, ""},
		{"basic", header{"Authorization": "Basic " + testToken}, "", 401, ""},
		{"x-api-key is the client API's", header{"Authorization": "", "X-Api-Key": testToken}, "", 401, ""},
		{"never from the URL", header{"Authorization": ""}, "?token=" + testToken + "&key=" + testToken, 401, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			s := scenario{method: "GET", path: "/api/state" + tc.path, header: tc.header, status: tc.status, want: []string{tc.want}, not: []string{testToken}}
			if tc.status == http.StatusUnauthorized {
				s.head = map[string]string{"WWW-Authenticate": `Bearer realm="breakwater"`}
			}
			body := b.run(t, s)
			if tc.status >= 400 && !strings.Contains(body, `"correlation_id":"`) {
				t.Errorf("answer %s has no correlation id", body)
			}
		})
	}
}

func TestWithoutATokenNobodyIsLetIn(t *testing.T) {
	for name, token := range map[string]func() string{"none": nil, "empty": func() string { return "" }} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(Options{Facade: facadetest.New(), Token: token})
			if a.auth.valid([]string{""}) || a.auth.valid([]string{"x"}) {
				t.Error("let in")
			}
		})
	}
}

func TestFailedAttemptsAreLimited(t *testing.T) {
	b := newBench(t)
	wrong := scenario{method: "GET", path: "/api/state", header: map[string]string{"Authorization": "Bearer guess"}}
	expect := func(status int) {
		t.Helper()
		s := wrong
		s.status = status
		if status == http.StatusTooManyRequests {
			s.want, s.head = []string{"AUTH_RATE_LIMITED"}, map[string]string{"Retry-After": "6"}
		}
		b.run(t, s)
	}
	for range failBurst {
		expect(403)
	}
	expect(429)
	if n := strings.Count(b.logs.String(), "management token refused"); n != failBurst {
		t.Errorf("%d log lines, want %d: what is over the limit is not logged", n, failBurst)
	}
	b.run(t, scenario{name: "the user is never locked out", method: "GET", path: "/api/state", status: 200})
	b.advance(refillSeconds * time.Second)
	expect(403)
	expect(429)
	b.advance(-time.Hour) // the clock steps back
	expect(429)
	b.advance(24 * time.Hour)
	for range failBurst {
		expect(403)
	}
	expect(429)
}
