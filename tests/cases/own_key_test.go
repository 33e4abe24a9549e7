package cases

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// credentialHeaders are the names in which clients and gateways are known to
// send keys, and some that nobody expects a key in.
var credentialHeaders = []string{
	"Authorization", "X-Api-Key", "Api-Key", "Apikey", "X-Goog-Api-Key", "X-Breakwater-Key", "X-Breakwater-Token",
	"Breakwater-Key", "Proxy-Authorization", "X-Proxy-Authorization", "Cookie", "Cookie2", "X-Auth-Token", "X-Auth",
	"X-Access-Token", "X-Amz-Security-Token", "Ocp-Apim-Subscription-Key", "X-Litellm-Key", "X-Litellm-Api-Key",
	"Helicone-Auth", "X-Portkey-Api-Key", "Cf-Aig-Authorization", "Openai-Organization", "Openai-Project", "Anthropic-Beta",
	"Anthropic-Version", "X-Stainless-Helper", "User-Agent", "Accept", "Accept-Language", "Referer", "Forwarded",
	"X-Forwarded-Authorization", "X-Original-Authorization", "Http-Referer", "X-Title", "X_api_key", "Traceparent",
	"Session-Id", "X-Claude-Code-Session-Id", "Originator", "Chatgpt-Account-Id", "Sec-Websocket-Protocol", "If-Match", "Warning",
}

// headerNames are the known names and as many made up by chance.
func headerNames() []string {
	names, letters := credentialHeaders, "abcdefghijklmnopqrstuvwxyz0123456789-_!#$%&'*+.^`|~"
	for range len(credentialHeaders) {
		name := []byte("x")
		for range 1 + rand.IntN(20) {
			name = append(name, letters[rand.IntN(len(letters))])
		}
		names = append(names, http.CanonicalHeaderKey(string(name)))
	}
	return names
}

// None of our credentials reaches a provider, whatever header or parameter it
// comes in, and whether it is in force or not (ruling 33).
func TestOwnCredentialsReachNoProvider(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	k.Add("beta", "claude", func(in *control.ConnectionInput) { in.Credential, in.APIKey = "passthrough", "" })
	k.Add("gamma", "codex", func(in *control.ConnectionInput) { in.Credential, in.APIKey = "passthrough", "" })
	const login = "sk-ant-oat01-test"
	k.Sim.Account("beta").SetKeys(login)
	inForce, gone := key(t, k, "in force"), key(t, k, "deleted")
	if err := k.Facade().DeleteKey(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	secrets := []string{k.Token, inForce.Key, gone.Key}
	shapes := []string{"%s", "Bearer %s", "token=%s; b=c", "a, %s", "Bearer sk-ant-oat01-%s", "Bearer eyJ%s", "prefix%ssuffix"}
	for _, name := range headerNames() {
		for i, secret := range secrets {
			for j, shape := range shapes {
				if (i+j)%2 == 1 && name != "Authorization" {
					continue // every name meets every secret and every shape, not each pair
				}
				value := fmt.Sprintf(shape, secret)
				k.Post("/v1/messages", scenario.NoStream(scenario.Messages), name, value)
				k.Post("/v1/messages", strings.Replace(scenario.NoStream(scenario.Messages), "m1", "claude-x", 1), name, value, "Authorization", "Bearer "+login)
				k.Post("/v1/responses", strings.Replace(scenario.NoStream(scenario.Responses), "m1", "codex-x", 1), name, value)
			}
		}
	}
	for _, secret := range secrets {
		for _, query := range []string{"key=" + secret, "beta=true&key=" + secret, "k=%73" + secret, "api_key=" + strings.ReplaceAll(secret, "_", "%5F")} {
			k.Post("/v1/messages?"+query, scenario.NoStream(scenario.Messages))
		}
	}
	answered := 0
	for _, name := range []string{"alpha", "beta", "gamma"} {
		for _, r := range k.Sim.Account(name).Requests() {
			answered++
			assertForeign(t, r, secrets)
		}
	}
	if answered < len(credentialHeaders) {
		t.Errorf("only %d requests reached a provider", answered)
	}
}

// assertForeign looks for the secrets in all that a provider got.
func assertForeign(t *testing.T, r simulator.Request, secrets []string) {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range secrets {
		if strings.Contains(string(raw), s) || strings.Contains(r.Query, strings.ReplaceAll(s, "_", "%5F")) {
			t.Errorf("%s %s got a credential of ours: %v", r.Account, r.Path, r.Header)
		}
	}
}

func key(t *testing.T, k *scenario.Kit, name string) control.APIKey {
	t.Helper()
	made, err := k.Facade().AddKey(t.Context(), control.KeyInput{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// What is the client's own travels on beside our key: its other values of the
// same header, its other parameters, and its login to the provider's own host.
func TestWhatLiesBesideAnOwnKeyTravelsOn(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "claude", func(in *control.ConnectionInput) { in.Credential, in.APIKey = "passthrough", "" })
	alpha := k.Sim.Account("alpha").SetKeys("sk-ant-oat01-test")
	made := key(t, k, "laptop")
	body := strings.Replace(scenario.NoStream(scenario.Messages), "m1", "claude-x", 1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, k.URL+"/v1/messages?beta=true&key="+made.Key, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Authorization": {"Bearer sk-ant-oat01-test", "Bearer " + made.Key}, "X-Breakwater-Key": {made.Key},
		"X-Note": {"mine", made.Key}, "X-Like": {"sk-abc", "bwk_short", strings.Replace(made.Key, "-", "_", 1)},
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	got := alpha.Requests()
	if res.StatusCode != 200 || len(got) != 1 {
		t.Fatalf("status %d, %d requests", res.StatusCode, len(got))
	}
	r := got[0]
	if r.Query != "beta=true" || fmt.Sprint(r.Header["X-Note"]) != "[mine]" || len(r.Header["X-Like"]) != 3 ||
		fmt.Sprint(r.Header["Authorization"]) != "[Bearer sk-ant-oat01-test]" {
		t.Errorf("sent %s %v", r.Query, r.Header)
	}
}
