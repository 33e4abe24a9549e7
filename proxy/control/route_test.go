package control

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"breakwater/proxy/catalog"
	"breakwater/proxy/dialect"
)

// service returns a service that only knows the routes of these records.
func service(t *testing.T, records ...ConnectionRecord) *Service {
	t.Helper()
	s := &Service{}
	routes := make([]*Route, len(records))
	for i, rec := range records {
		p, ok := catalog.Lookup(rec.Provider)
		if !ok {
			t.Fatalf("no provider %q", rec.Provider)
		}
		if rec.Credential == "" {
			rec.Credential = string(p.Credentials[0])
		}
		rec.ID = fmt.Sprint(i)
		routes[i] = newRoute(rec, p, "key")
	}
	s.routes.Store(&routes)
	return s
}

func TestChoose(t *testing.T) {
	claude := ConnectionRecord{Provider: "claude", Name: "work"}
	anthropic := ConnectionRecord{Provider: "anthropic", Name: "home"}
	glm := ConnectionRecord{Provider: "glm", Name: "plan", DefaultModel: "glm-5.2"}
	glmBare := ConnectionRecord{Provider: "glm", Name: "bare"}
	openai := ConnectionRecord{Provider: "openai", Name: "platform"}
	gateway := ConnectionRecord{Provider: "openai", Name: "gateway", BaseURL: "https://llm.example.com"}
	picky := ConnectionRecord{Provider: "anthropic", Name: "picky", Limits: Limits{Extras: Extras{ExcludedModels: []string{"claude-big*"}}}}
	torn := picky
	torn.DefaultModel = "claude-big-1"
	later := ConnectionRecord{Provider: "custom", Name: "later", BaseURL: "https://later.example.com", Dialects: []string{"gemini"}}
	mixed := ConnectionRecord{Provider: "custom", Name: "mixed", BaseURL: "https://mixed.example.com", Dialects: []string{"", "Responses", "chat"}}
	any := func(*Route) bool { return true }
	tests := []struct {
		name    string
		records []ConnectionRecord
		ask     Ask
		want    []string // name=model
		passed  []string // name:reason
	}{
		{"who offers it, in order", []ConnectionRecord{anthropic, glm}, Ask{Dialect: dialect.Anthropic, Model: "claude-x"}, []string{"home=claude-x", "plan=glm-5.2"}, nil},
		{"who does not is passed over", []ConnectionRecord{anthropic, glmBare}, Ask{Dialect: dialect.Anthropic, Model: "claude-x"}, []string{"home=claude-x"}, []string{"bare:model_not_offered"}},
		{"nobody offers it: all are asked", []ConnectionRecord{anthropic, glmBare}, Ask{Dialect: dialect.Anthropic, Model: "new-thing"}, []string{"home=new-thing", "bare=new-thing"}, nil},
		{"an excluded model is never asked for", []ConnectionRecord{picky, anthropic}, Ask{Dialect: dialect.Anthropic, Model: "claude-big-1"}, []string{"home=claude-big-1"}, []string{"picky:model_not_offered"}},
		{"not even by the connection's name", []ConnectionRecord{picky}, Ask{Dialect: dialect.Anthropic, Model: "picky/claude-big-1"}, nil, []string{"picky:model_not_offered"}},
		{"nor where nobody offers it", []ConnectionRecord{picky, glmBare}, Ask{Dialect: dialect.Anthropic, Model: "claude-big-1"}, []string{"bare=claude-big-1"}, []string{"picky:model_not_offered"}},
		{"nor as its default", []ConnectionRecord{torn, anthropic}, Ask{Dialect: dialect.Anthropic, Model: "new-thing"}, []string{"picky=new-thing", "home=new-thing"}, nil},
		{"its other models are", []ConnectionRecord{picky}, Ask{Dialect: dialect.Anthropic, Model: "claude-small"}, []string{"picky=claude-small"}, nil},
		{"only those that speak the dialect", []ConnectionRecord{anthropic, openai}, Ask{Dialect: dialect.Responses, Model: "gpt-5"}, []string{"platform=gpt-5"}, nil},
		{"a gateway behind a provider's name offers anything", []ConnectionRecord{gateway}, Ask{Dialect: dialect.Chat, Model: "whatever"}, []string{"gateway=whatever"}, nil},
		{"passthrough with the client's login", []ConnectionRecord{claude}, Ask{Dialect: dialect.Anthropic, Model: "claude-x", Admits: any}, []string{"work=claude-x"}, nil},
		{"passthrough without it", []ConnectionRecord{claude, anthropic}, Ask{Dialect: dialect.Anthropic, Model: "claude-x"}, []string{"home=claude-x"}, []string{"work:no_client_credential"}},
		{"a connection's name is a prefix", []ConnectionRecord{anthropic, glm}, Ask{Dialect: dialect.Anthropic, Model: "Plan/glm-9"}, []string{"plan=glm-9"}, nil},
		{"a provider's alias is a prefix", []ConnectionRecord{anthropic, glm}, Ask{Dialect: dialect.Anthropic, Model: "zai/glm-9"}, []string{"plan=glm-9"}, nil},
		{"a provider without a connection is none", []ConnectionRecord{gateway}, Ask{Dialect: dialect.Chat, Model: "groq/llama"}, []string{"gateway=groq/llama"}, nil},
		{"case P43 window suffix", []ConnectionRecord{anthropic}, Ask{Dialect: dialect.Anthropic, Model: "claude-x[1m]"}, []string{"home=claude-x"}, nil},
		{"case P45 slashes", []ConnectionRecord{gateway}, Ask{Dialect: dialect.Chat, Model: "gateway/org/pa/x"}, []string{"gateway=org/pa/x"}, nil},
		{"stored dialects that this version does not know are none", []ConnectionRecord{later, mixed}, Ask{Dialect: dialect.Chat, Model: "m"}, []string{"mixed=m"}, nil},
		{"nor do they stand for another", []ConnectionRecord{later, mixed}, Ask{Dialect: dialect.Responses, Model: "m"}, nil, nil},
		{"an unknown dialect alone", []ConnectionRecord{later}, Ask{Dialect: dialect.Chat, Model: "m"}, nil, nil},
		{"nothing speaks no dialect", []ConnectionRecord{gateway}, Ask{Model: "m"}, nil, nil},
		{"an empty rest is no prefix", []ConnectionRecord{gateway}, Ask{Dialect: dialect.Chat, Model: "gateway/"}, []string{"gateway=gateway/"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			choices, passed := service(t, tt.records...).Choose(tt.ask)
			var got, gone []string
			for _, c := range choices {
				got = append(got, c.Route.Record.Name+"="+c.Model)
			}
			for _, p := range passed {
				gone = append(gone, p.Route.Record.Name+":"+string(p.Reason))
			}
			if !slices.Equal(got, tt.want) || !slices.Equal(gone, tt.passed) {
				t.Errorf("got %v, passed %v; want %v, passed %v", got, gone, tt.want, tt.passed)
			}
		})
	}
}

func TestBaseURLGetsItsVersion(t *testing.T) {
	for in, want := range map[string]string{
		"https://llm.example.com": "https://llm.example.com/v1", "http://127.0.0.1:8080/": "http://127.0.0.1:8080/v1",
		"https://llm.example.com/v1": "https://llm.example.com/v1", "https://x.example/api/paas/v4/": "https://x.example/api/paas/v4",
	} {
		if got := versioned(in); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

func TestCheckRecord(t *testing.T) {
	good := ConnectionRecord{ID: "1", Provider: "custom", Name: "mine", Credential: "apikey", BaseURL: "https://llm.example.com/v1", Priority: 1}
	tests := []struct {
		name   string
		change func(*ConnectionRecord)
		noKey  bool
		field  string // that must be complained of; empty: all is well
	}{
		{"good", func(*ConnectionRecord) {}, false, ""},
		{"no name", func(r *ConnectionRecord) { r.Name = "" }, false, "name"},
		{"slash in the name", func(r *ConnectionRecord) { r.Name = "a/b" }, false, "name"},
		{"taken name, other case", func(r *ConnectionRecord) { r.Name = "HOME" }, false, "name"},
		{"no base URL", func(r *ConnectionRecord) { r.BaseURL = "" }, false, "baseUrl"},
		{"base URL of another kind", func(r *ConnectionRecord) { r.BaseURL = "ftp://x" }, false, "baseUrl"},
		{"base URL with a password", func(r *ConnectionRecord) { r.BaseURL = "https://u:p@x.example" }, false, "baseUrl"},
		{"base URL with a query", func(r *ConnectionRecord) { r.BaseURL = "https://x.example/v1?key=1" }, false, "baseUrl"},
		{"plain http on the internet", func(r *ConnectionRecord) { r.BaseURL = "http://x.example.com/v1" }, false, "baseUrl"},
		{"plain http at home", func(r *ConnectionRecord) { r.BaseURL = "http://192.168.1.4:8000" }, false, ""},
		{"plain http on this machine", func(r *ConnectionRecord) { r.BaseURL = "http://[::1]:8000" }, false, ""},
		{"no key", func(*ConnectionRecord) {}, true, "apiKey"},
		{"no key wanted", func(r *ConnectionRecord) { r.Credential = "none" }, true, ""},
		{"credential of another provider", func(r *ConnectionRecord) { r.Credential = "passthrough" }, false, "credential"},
		{"unknown dialect", func(r *ConnectionRecord) { r.Dialects = []string{"gemini"} }, false, "dialects"},
		{"priority zero", func(r *ConnectionRecord) { r.Priority = 0 }, false, "priority"},
		{"lane without Claude", func(r *ConnectionRecord) { r.LowPriorityMode = true }, false, "lowPriorityMode"},
		{"empty pattern", func(r *ConnectionRecord) { r.Models = []string{""} }, false, "models"},
	}
	others := *service(t, ConnectionRecord{Provider: "anthropic", Name: "home"}).routes.Load()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := good
			tt.change(&rec)
			p, _ := catalog.Lookup(rec.Provider)
			err := checkRecord(rec, p, !tt.noKey, others)
			var invalid *InvalidError
			switch {
			case tt.field == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.field != "" && (!errors.As(err, &invalid) || !slices.ContainsFunc(invalid.Fields, func(f FieldError) bool { return f.Field == tt.field })):
				t.Errorf("got %v, want a complaint about %s", err, tt.field)
			}
		})
	}
	t.Run("passthrough goes to the provider's own host only", func(t *testing.T) {
		p, _ := catalog.Lookup("claude")
		rec := ConnectionRecord{ID: "1", Provider: "claude", Name: "c", Credential: "passthrough", Priority: 1, BaseURL: "https://evil.example/v1"}
		if err := checkRecord(rec, p, false, nil); err == nil {
			t.Error("another host was accepted")
		}
		rec.BaseURL = "http://127.0.0.1:9/v1"
		if err := checkRecord(rec, p, false, nil); err != nil {
			t.Errorf("this machine was refused: %v", err)
		}
	})
}

func TestKeysAreCheckedWithoutBeingRepeated(t *testing.T) {
	for _, key := range []string{"with space", "line\nbreak", "\u200bzero width"} {
		err := checkKey(key)
		if err == nil {
			t.Errorf("%q was accepted", key)
			continue
		}
		if slices.Contains([]string{key}, err.Error()) {
			t.Errorf("the error repeats the key: %v", err)
		}
	}
	if err := checkKey("sk-ant-api03-abc_DEF-123"); err != nil {
		t.Error(err)
	}
}

func TestHealth(t *testing.T) {
	tests := []struct {
		name   string
		paused bool
		states []State
		want   Health
	}{
		{"all serve", false, []State{StateServing, StateServing}, HealthWell},
		{"what is off does not count", false, []State{StateServing, StateOff}, HealthWell},
		{"degraded", false, []State{StateServing, StateDegraded}, HealthDegraded},
		{"a model is locked", false, []State{StateModelLocked}, HealthDegraded},
		{"cooling", false, []State{StateServing, StateCooling, StateDegraded}, HealthTrouble},
		{"open", false, []State{StateOpen, StateServing}, HealthTrouble},
		{"no credit", false, []State{StateDegraded, StateCreditsExhausted}, HealthTrouble},
		{"untouched", false, nil, HealthIdle},
		{"all off", false, []State{StateOff}, HealthIdle},
		{"the only one cools", false, []State{StateCooling, StateOff}, HealthUnavailable},
		{"all out, each in its way", false, []State{StateOpen, StateExpired, StateKeyMissing}, HealthUnavailable},
		{"one probes, the other is banned", false, []State{StateProbing, StateBanned}, HealthTrouble},
		{"paused", true, []State{StateServing}, HealthDown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Snapshot{Paused: tt.paused}
			for _, st := range tt.states {
				s.Connections = append(s.Connections, Connection{State: st})
			}
			if got := health(s); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
