package cases

import (
	"net/http"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/tests/scenario"
)

// Every value of every Origin header is judged, whole (ruling 51, case P48): no
// allowed one excuses another one beside it.
func TestEveryOriginIsJudged(t *testing.T) {
	const mine, six, other = "http://localhost:5173", "http://[::1]:5173", "https://evil.example"
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	if _, err := k.Facade().EditSettings(t.Context(), control.SettingsPatch{AllowedOrigins: &[]string{mine, six}}); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		origins []string
		want    int
	}{
		"none":                            {nil, 200},
		"P47 the allowed one":             {[]string{mine}, 200},
		"IPv6":                            {[]string{six}, 200},
		"the allowed one twice":           {[]string{mine, mine}, 200},
		"two allowed ones":                {[]string{mine, six}, 200},
		"a foreign one behind it":         {[]string{mine, other}, 403},
		"a foreign one before it":         {[]string{other, mine}, 403},
		"a foreign one behind an empty":   {[]string{"", other}, 403},
		"an allowed one behind an empty":  {[]string{"", mine}, 403},
		"an empty one":                    {[]string{""}, 403},
		"null":                            {[]string{"null"}, 403},
		"null behind the allowed one":     {[]string{mine, "null"}, 403},
		"a list with a comma":             {[]string{mine + ", " + other}, 403},
		"a list with a space":             {[]string{mine + " " + mine}, 403},
		"another port":                    {[]string{"http://localhost:5174"}, 403},
		"no port":                         {[]string{"http://localhost"}, 403},
		"another scheme":                  {[]string{"https://localhost:5173"}, 403},
		"another case":                    {[]string{"HTTP://LOCALHOST:5173"}, 403},
		"a path":                          {[]string{mine + "/"}, 403},
		"a login":                         {[]string{"http://localhost:5173@evil.example"}, 403},
		"the IPv4 of the name":            {[]string{"http://127.0.0.1:5173"}, 403},
		"IPv6 in its long form":           {[]string{"http://[0:0:0:0:0:0:0:1]:5173"}, 403},
		"P48 it begins like the allowed":  {[]string{mine + ".evil.example"}, 403},
		"it only looks like the name (о)": {[]string{"http://lоcalhost:5173"}, 403},
	} {
		for path, body := range map[string]string{"/v1/messages": scenario.NoStream(scenario.Messages), "/api/state": ""} {
			method := http.MethodPost
			if body == "" {
				method = http.MethodGet
			}
			req, err := http.NewRequestWithContext(t.Context(), method, k.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{"Authorization": {"Bearer " + k.Token}, "Origin": tc.origins}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != tc.want {
				t.Errorf("%s %s: %d, want %d", path, name, res.StatusCode, tc.want)
			}
			if got := res.Header.Get("Access-Control-Allow-Origin"); (got != "") != (tc.want == 200 && len(tc.origins) > 0) {
				t.Errorf("%s %s: allows %q", path, name, got)
			}
		}
	}
}

// What a browser says about the asking page counts in every value.
func TestEveryFetchSiteIsJudged(t *testing.T) {
	k := scenario.Start(t)
	for name, tc := range map[string]struct {
		sites []string
		want  int
	}{
		"typed in": {[]string{"none"}, 200}, "our own page": {[]string{"same-origin"}, 200},
		"a foreign page": {[]string{"cross-site"}, 403}, "behind a harmless one": {[]string{"none", "cross-site"}, 403},
		"in a list": {[]string{"none, same-site"}, 403}, "behind an empty one": {[]string{"", "cross-site"}, 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, k.URL+"/v1/models", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header["Sec-Fetch-Site"] = tc.sites
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != tc.want {
			t.Errorf("%s: %d, want %d", name, res.StatusCode, tc.want)
		}
	}
}

// An allowed origin that can match nothing is refused when it is set, and does
// not stand in the way of other changes when it was stored before.
func TestAnOriginThatMatchesNothingIsRefused(t *testing.T) {
	k := scenario.Start(t)
	set := func(body string) scenario.Answer {
		return k.Do(http.MethodPatch, "/api/settings", body, "Authorization", "Bearer "+k.Token)
	}
	for _, o := range []string{"http://localhost:5173/", "https://*.example.com", "http://LOCALHOST", "localhost:5173", "http://localhost:80", "null"} {
		a := set(`{"theme":"dark","allowedOrigins":["http://localhost:1","` + o + `"]}`)
		if a.Status != 400 || !strings.Contains(a.Body, "entry 2 can match nothing") {
			t.Errorf("%s: %d %s", o, a.Status, a.Body)
		}
	}
	if a := set(`{"allowedOrigins":["http://localhost:5173"]}`); a.Status != 200 || strings.Contains(a.Body, `"theme":"dark"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if err := k.Store.SaveSettings(t.Context(), map[string][]byte{"app": []byte(`{"theme":"dark","activityLimit":10000,"textScale":100,"allowedOrigins":["http://localhost:80"]}`)}); err != nil {
		t.Fatal(err)
	}
	k.Restart()
	if a := set(`{"theme":"light"}`); a.Status != 200 || !strings.Contains(a.Body, "localhost:80") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
