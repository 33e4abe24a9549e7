package catalog

import (
	"net/url"
	"strings"
	"testing"

	"breakwater/proxy/dialect"
	"breakwater/resilience/settings"
)

func TestCatalogueIsSound(t *testing.T) {
	names, ids := map[string]string{}, map[string]bool{}
	for _, p := range All() {
		t.Run(p.ID, func(t *testing.T) {
			for _, name := range append([]string{p.ID}, p.Aliases...) {
				if other := names[name]; other != "" {
					t.Errorf("%q also names %s", name, other)
				}
				names[name] = p.ID
				if name != strings.ToLower(name) {
					t.Errorf("%q is never found: names are looked up in lower case", name)
				}
				if got, ok := Lookup(strings.ToUpper(name)); !ok || got.ID != p.ID {
					t.Errorf("Lookup(%q) = %q, %v", name, got.ID, ok)
				}
			}
			ids[p.ID] = true
			if p.Name == "" || len(p.Endpoints) == 0 || len(p.Credentials) == 0 || len(p.Models) == 0 {
				t.Error("name, endpoints, credentials and models are all needed")
			}
			switch p.Profile {
			case settings.OAuth, settings.APIKey, settings.Local:
			default:
				t.Errorf("profile %q", p.Profile)
			}
			for _, e := range p.Endpoints {
				if p.Custom {
					if e.URL != "" {
						t.Errorf("a custom entry has the URL %s", e.URL)
					}
					continue
				}
				u, err := url.Parse(e.URL)
				if err != nil || u.Host == "" || strings.HasSuffix(e.URL, "/") {
					t.Errorf("URL %q", e.URL)
					continue
				}
				for _, path := range []string{"/messages", "/completions", "/responses"} {
					if strings.HasSuffix(u.Path, path) {
						t.Errorf("%s holds the path of the dialect", e.URL)
					}
				}
				if local := u.Scheme == "http"; local != (p.Profile == settings.Local) {
					t.Errorf("%s with the profile %s", e.URL, p.Profile)
				}
			}
			for _, c := range p.Credentials {
				if c == PassthroughCredential && len(p.PassthroughPrefixes) == 0 {
					t.Error("passthrough without a prefix would forward any credential")
				}
			}
		})
	}
	if len(ids) < 25 {
		t.Errorf("only %d providers", len(ids))
	}
}

func TestEndpoint(t *testing.T) {
	p, _ := Lookup("glm")
	if e, ok := p.Endpoint(dialect.Anthropic); !ok || e.Auth != XAPIKey {
		t.Errorf("%+v, %v", e, ok)
	}
	if _, ok := p.Endpoint(dialect.Responses); ok {
		t.Error("GLM does not speak Responses")
	}
}
