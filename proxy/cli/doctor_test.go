package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"breakwater/build"
	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
)

// clinic is an installation for the doctor to look at.
type clinic struct {
	env   map[string]string
	home  string
	dir   string
	url   string // where it runs, empty: nowhere
	port  int
	fake  *facadetest.Fake
	db    error
	write error // of writing to the folder
	at    SecretsPlace
	lost  error // of opening the secrets
	now   time.Time
}

func newClinic(t *testing.T) *clinic {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close() // the port is free from now on
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c := &clinic{env: map[string]string{}, home: t.TempDir(), dir: dir, port: port, fake: facadetest.New(), at: SecretsPlace{Where: "keychain", Why: "which answered"}, now: time.Now()}
	c.fake.Tested = control.TestResult{Valid: true, LatencyMs: 3}
	c.fake.Change(func(s *control.Snapshot) {
		s.Version = build.Version
		s.Connections = []control.Connection{{ID: "a", Name: "Work", Active: true, HasSecret: true, Credential: "apikey", State: control.StateServing}}
	})
	return c
}

// start makes it run.
func (c *clinic) start(t *testing.T) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(srv.Close)
	c.url = srv.URL
	c.port = srv.Listener.Addr().(*net.TCPAddr).Port
}

func (c *clinic) doctor(t *testing.T, args ...string) (int, map[string][]Finding, string) {
	t.Helper()
	var out bytes.Buffer
	env := Env{
		Out: &out, Err: &out, Getenv: func(k string) string { return c.env[k] },
		Connect: func(context.Context, Where) (control.Facade, func(), error) { return c.fake, func() {}, nil },
		Local: LocalChecks{
			Dir:      func(Where) (string, error) { return c.dir, nil },
			Database: func(context.Context, string) (string, error) { return "whole", c.db },
			Secrets:  func(context.Context, string) (SecretsPlace, error) { return c.at, c.lost },
			Writable: func(string) error { return c.write },
			Remedy:   func(err error) string { return "mend " + err.Error() },
			Address: func(string) (string, error) {
				if c.url == "" {
					return "", errors.New("not running")
				}
				return c.url, nil
			},
			Port: c.port, Home: c.home, Now: func() time.Time { return c.now },
		},
	}
	code := Run(t.Context(), env, append([]string{"doctor", "--json"}, args...))
	var got struct {
		Status Severity
		Checks []Finding
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	by := map[string][]Finding{}
	for _, f := range got.Checks {
		by[f.Check] = append(by[f.Check], f)
		if f.State == Problem && f.Do == "" {
			t.Errorf("%+v says not what to do", f)
		}
	}
	if (code == 1) != (got.Status == Problem) {
		t.Errorf("exit code %d for %s", code, got.Status)
	}
	return code, by, out.String()
}

func TestAHealthyInstallation(t *testing.T) {
	c := newClinic(t)
	c.start(t)
	c.env["ANTHROPIC_BASE_URL"] = c.url
	code, by, all := c.doctor(t)
	if code != 0 || strings.Contains(all, `"problem"`) || strings.Contains(all, `"warning"`) {
		t.Errorf("%d %s", code, all)
	}
	for _, check := range []string{"data folder", "database", "secrets", "port", "proxy", "client", "clock", "running", "connection Work"} {
		if len(by[check]) != 1 {
			t.Errorf("%s was looked at %d times", check, len(by[check]))
		}
	}
}

func TestWhatTheDoctorFinds(t *testing.T) {
	write := func(c *clinic, name, text string) {
		path := filepath.Join(c.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one := func(c *clinic, change func(*control.Connection)) {
		c.fake.Change(func(s *control.Snapshot) { change(&s.Connections[0]) })
	}
	for _, tc := range []struct {
		name  string
		make  func(t *testing.T, c *clinic)
		args  []string
		check string
		state Severity
		found string
	}{
		{"P57 the port is held by another program", func(t *testing.T, c *clinic) {
			srv := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(srv.Close)
			c.port = srv.Listener.Addr().(*net.TCPAddr).Port
		}, nil, "port", Problem, "is held by another program"},
		{"it listens elsewhere", func(t *testing.T, c *clinic) { c.start(t); c.port = 7411 }, nil, "port", Remark, "clients expect port 7411"},
		{"P58 a proxy that catches this machine", func(_ *testing.T, c *clinic) { c.env["https_proxy"] = "http://127.0.0.1:9" }, nil, "proxy", Remark, "NO_PROXY lacks 127.0.0.1"},
		{"a proxy with exceptions", func(_ *testing.T, c *clinic) {
			c.env["HTTP_PROXY"], c.env["NO_PROXY"] = "http://127.0.0.1:9", "127.0.0.1,localhost"
		}, nil, "proxy", Fine, "leaves this machine out"},
		{"P51 a damaged database", func(_ *testing.T, c *clinic) { c.db = errors.New("the database is damaged") }, nil, "database", Problem, "damaged"},
		{"a database that cannot be written", func(_ *testing.T, c *clinic) { c.write = errors.New("read-only file system") }, nil, "database", Problem, "cannot be written: read-only"},
		{"secrets in a file", func(_ *testing.T, c *clinic) { c.at = SecretsPlace{Where: "file", Why: "no keychain answered"} }, nil, "secrets", Remark, "in an encrypted file in the data folder, its key beside it, no keychain answered"},
		{"secrets in a file by choice", func(_ *testing.T, c *clinic) { c.at = SecretsPlace{Where: "file", Why: "as you said", Chosen: true} }, nil, "secrets", Fine, "encrypted file"},
		{"secrets that cannot be opened", func(_ *testing.T, c *clinic) {
			c.at, c.lost = SecretsPlace{Where: "file", Why: "as you said"}, errors.New("damaged")
		}, nil, "secrets", Problem, "they are in an encrypted file in the data folder, its key beside it, as you said: damaged"},
		{"no secrets yet", func(_ *testing.T, c *clinic) { c.at = SecretsPlace{} }, nil, "secrets", Skipped, "none yet"},
		{"P57 another Breakwater holds the port", func(t *testing.T, c *clinic) { c.start(t); c.url = "" }, nil, "port", Problem, "another Breakwater"},
		{"a clock behind the data folder", func(t *testing.T, c *clinic) {
			path := filepath.Join(c.dir, "breakwater.db")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, c.now.Add(time.Hour), c.now.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}, nil, "clock", Problem, "behind the last write"},
		{"a clock of another century", func(_ *testing.T, c *clinic) { c.now = time.Unix(0, 0) }, nil, "clock", Problem, "1970"},
		{"a clock behind the log", func(t *testing.T, c *clinic) {
			c.start(t)
			c.fake.AddActivity(control.Activity{ID: 1, At: time.Now().Add(time.Hour)})
		}, nil, "clock", Problem, "behind"},
		{"a folder that others can read", func(t *testing.T, c *clinic) {
			if err := os.Chmod(c.dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}, nil, "data folder", Remark, "others"},
		{"no folder yet", func(_ *testing.T, c *clinic) { c.dir = filepath.Join(c.dir, "new") }, nil, "data folder", Fine, "first start"},
		{"an OpenAI client without /v1", func(_ *testing.T, c *clinic) { c.env["OPENAI_BASE_URL"] = "http://127.0.0.1:7411"; c.port = 7411 }, nil, "client", Problem, "lacks /v1"},
		{"Claude Code with /v1", func(_ *testing.T, c *clinic) { c.env["ANTHROPIC_BASE_URL"] = "http://localhost:7411/v1"; c.port = 7411 }, nil, "client", Remark, "adds its own"},
		{"Claude Code's own file", func(_ *testing.T, c *clinic) {
			write(c, ".claude/settings.json", `{"env":{"ANTHROPIC_BASE_URL":"http://elsewhere.example"}}`)
		}, nil, "client", Remark, "elsewhere.example"},
		{"Codex's file", func(_ *testing.T, c *clinic) {
			write(c, ".codex/config.toml", "[model_providers.breakwater]\nbase_url = \"http://127.0.0.1:7411/v1\"\n")
			c.port = 7411
		}, nil, "client", Fine, "Codex goes to Breakwater"},
		{"it does not run", func(*testing.T, *clinic) {}, nil, "connections", Skipped, "does not run"},
		{"no connections", func(t *testing.T, c *clinic) {
			c.start(t)
			c.fake.Change(func(s *control.Snapshot) { s.Connections = nil })
		}, nil, "connections", Problem, "there are none"},
		{"a key that is refused", func(t *testing.T, c *clinic) {
			c.start(t)
			c.fake.Tested = control.TestResult{StatusCode: 401, Diagnosis: control.Diagnosis{Type: "upstream_auth_error"}}
		}, nil, "connection Work", Problem, "upstream auth error (status 401)"},
		{"offline it goes by the state", func(t *testing.T, c *clinic) {
			c.start(t)
			one(c, func(k *control.Connection) { k.State = control.StateBanned })
		}, []string{"--offline"}, "connection Work", Problem, "banned"},
		{"ruling 62 a ban in the refusal's words", func(t *testing.T, c *clinic) {
			c.start(t)
			one(c, func(k *control.Connection) {
				k.State, k.Words, k.Reason = control.StateBanned, "This organization has been \x1b[31mdisabled.", "quota_exhausted"
			})
		}, []string{"--offline"}, "connection Work", Problem, "banned: This organization has been"},
		{"ruling 62 one that needs attention", func(t *testing.T, c *clinic) {
			c.start(t)
			one(c, func(k *control.Connection) {
				k.State, k.NeedsAttention = control.StateNeedsAttention, &control.Attention{Words: "no access"}
			})
		}, []string{"--offline"}, "connection Work", Problem, "needs_attention: no access"},
		{"ruling 56 a wrong address", func(t *testing.T, c *clinic) {
			c.start(t)
			one(c, func(k *control.Connection) { k.State, k.Reason = control.StateWrongAddress, "wrong_address" })
		}, []string{"--offline"}, "connection Work", Problem, "wrong_address"},
		{"switched off", func(t *testing.T, c *clinic) {
			c.start(t)
			one(c, func(k *control.Connection) { k.Active = false })
		}, nil, "connection Work", Remark, "switched off"},
		{"a full disk", func(t *testing.T, c *clinic) {
			c.start(t)
			c.fake.Change(func(s *control.Snapshot) {
				s.Notices = []control.Notice{{Code: "disk_full", Text: "The disk is full."}}
			})
		}, nil, "storage", Problem, "disk is full"},
		{"no key", func(t *testing.T, c *clinic) {
			c.start(t)
			one(c, func(k *control.Connection) { k.HasSecret = false })
		}, nil, "connection Work", Problem, "key is missing"},
		{"another version runs", func(t *testing.T, c *clinic) {
			c.start(t)
			c.fake.Change(func(s *control.Snapshot) { s.Version = "0.0.1" })
		}, nil, "running", Remark, "0.0.1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newClinic(t)
			tc.make(t, c)
			_, by, all := c.doctor(t, tc.args...)
			if len(by[tc.check]) == 0 {
				t.Fatalf("%s was not looked at: %s", tc.check, all)
			}
			f := by[tc.check][0]
			if f.State != tc.state || !strings.Contains(f.Found, tc.found) {
				t.Errorf("%+v, want %s with %q", f, tc.state, tc.found)
			}
		})
	}
}

func TestTheDoctorSpeaksTheShellOfTheSystem(t *testing.T) {
	if w, l := noProxyLine("windows"), noProxyLine("linux"); !strings.HasPrefix(w, "$env:") || !strings.HasPrefix(l, "export ") {
		t.Error(w, l)
	}
}

func TestTheDoctorInWords(t *testing.T) {
	r := &report{}
	r.ok("port", "free")
	r.add(Problem, "clock", "wrong", "Set it.")
	var out bytes.Buffer
	r.write(&out)
	for _, want := range []string{"ok       port", "problem  clock", "Set it.", "something to mend"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s lacks %q", out.String(), want)
		}
	}
}
