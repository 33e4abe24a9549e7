package cases

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"breakwater/proxy"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// case 213: a reported lock is listed, a stranger cannot lift it, its owner
// can, and the reset lifts what is left.
func TestLocksAreListedAndLifted(t *testing.T) {
	t.Run("case 213 listed, kept from strangers, lifted", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, _ := k.Pair()
		token := []string{"Authorization", "Bearer " + k.Token}
		const path = "/api/resilience/model-cooldowns"
		listed := func() bool { return strings.Contains(k.Do(http.MethodGet, path, "", token...).Body, `"model":"m1"`) }
		lock := func() {
			alpha.Script(simulator.Status(404).WithError(simulator.Error{Type: "not_found_error", Message: "model: m1"}))
			k.Post("/v1/messages", scenario.Messages)
		}
		lock()
		if !listed() {
			t.Error("the lock is not listed")
		}
		if a := k.Do(http.MethodDelete, path, `{"all":true}`); a.Status != 401 || !listed() {
			t.Errorf("a stranger's DELETE gets %d, the lock is listed: %v", a.Status, listed())
		}
		if a := k.Do(http.MethodDelete, path, fmt.Sprintf(`{"provider":"demo","connection":%q,"model":"m1"}`, k.Connection("alpha").ID), token...); a.Status != 200 || listed() {
			t.Errorf("cleared %d %s", a.Status, a.Body)
		}
		lock()
		if a := k.Do(http.MethodPost, "/api/resilience/reset", "", token...); a.Status != 200 || listed() {
			t.Errorf("reset %d %s", a.Status, a.Body)
		}
	})
}

// case 149 and its neighbours: what a caller presents decides, not where it
// calls from or under which name.
func TestWhoMayManage(t *testing.T) {
	k := scenario.Start(t)
	for name, tc := range map[string]struct {
		headers []string
		status  int
		words   string
	}{
		"case 149 no credential":                  {nil, 401, "AUTH_001"},
		"case 150 a bearer that is garbage":       {[]string{"Authorization", "Bearer garbage"}, 403, "Invalid management token"},
		"case 152 loopback alone (ruling 32)":     {[]string{"Host", "127.0.0.1"}, 401, "AUTH_001"},
		"case 153 a name of this machine":         {[]string{"Host", "localhost"}, 401, "AUTH_001"},
		"case 154 forwarded headers lend nothing": {[]string{"X-Forwarded-For", "127.0.0.1", "X-Real-Ip", "127.0.0.1"}, 401, "AUTH_001"},
		"case 156 a foreign page with the token":  {[]string{"Origin", "https://evil.example", "Authorization", "Bearer " + k.Token}, 403, "foreign_origin"},
		"the token in the URL's place of a name":  {[]string{"Authorization", "Basic " + k.Token}, 401, "AUTH_001"},
		"the token":                               {[]string{"Authorization", "Bearer " + k.Token}, 200, "connections"},
		"the token in the header of our own":      {[]string{"X-Breakwater-Key", k.Token}, 200, "connections"},
	} {
		if a := k.Do(http.MethodGet, "/api/state", "", tc.headers...); a.Status != tc.status || !strings.Contains(a.Body, tc.words) {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
}

// P57: a port that somebody holds is named, whichever of the two loopback
// addresses it is on, and no other one is taken in silence; a second start of
// ours finds the first.
func TestAHeldPortIsNamed(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			continue // a system without IPv6
		}
		port := l.Addr().(*net.TCPAddr).Port
		got, err := proxy.Listen(t.Context(), port)
		var taken *proxy.PortTakenError
		if !errors.As(err, &taken) || taken.Port != port || !strings.Contains(err.Error(), fmt.Sprint(port)) || len(got) > 0 {
			t.Errorf("P57 on %s: %v %v", host, got, err)
		}
		_ = l.Close()
	}
	dir := t.TempDir()
	first, err := proxy.Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Publish("http://127.0.0.1:7411"); err != nil {
		t.Fatal(err)
	}
	_, err = proxy.Claim(dir)
	var running *proxy.RunningError
	if !errors.As(err, &running) || running.URL != "http://127.0.0.1:7411" {
		t.Errorf("P57 a second start: %v", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if again, err := proxy.Claim(dir); err != nil || again.Release() != nil {
		t.Errorf("after the end: %v", err)
	}
}

// A path of the management API that is spelt unclean leads nowhere: JSON, and
// no redirect to a page.
func TestUncleanManagementPathsAreNone(t *testing.T) {
	k := scenario.Start(t)
	for _, path := range []string{"//api/keys", "/./api/keys", "/x/../api/keys", "/api//keys", "//api"} {
		for status, headers := range map[int][]string{404: {"Authorization", "Bearer " + k.Token}, 401: nil} {
			a := k.Do(http.MethodGet, path, "", headers...)
			if a.Status != status || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
				t.Errorf("%s: %d %s, want %d", path, a.Status, a.Body, status)
			}
		}
	}
}
