package classify

import (
	"testing"
	"time"

	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// The profiles of the acceptance cases; hints are on in both (ruling 7).
var (
	oauthProfile  = settings.Profile{Name: settings.OAuth, BaseCooldown: 5 * time.Second, MaxBackoffSteps: 8, UseUpstreamRetryHints: true}
	apiKeyProfile = settings.Profile{Name: settings.APIKey, BaseCooldown: 3 * time.Second, MaxBackoffSteps: 5, UseUpstreamRetryHints: true}
	// profileT is the sheet's test profile.
	profileT = settings.Profile{Name: settings.APIKey, BaseCooldown: 125 * time.Millisecond, MaxBackoffSteps: 3}
)

// ms keeps the figures of the cases readable.
const ms = time.Millisecond

// option changes the input of one case.
type option func(*Input)

func header(name, value string) option {
	return func(in *Input) {
		if in.Header == nil {
			in.Header = map[string][]string{}
		}
		in.Header[name] = append(in.Header[name], value)
	}
}

func profile(p settings.Profile) option { return func(in *Input) { in.Profile = p } }

func oauthT(in *Input) { in.Profile = profileT; in.Profile.Name = settings.OAuth }

func noHints(in *Input) { in.Profile.UseUpstreamRetryHints = false }

func model(name string) option { return func(in *Input) { in.Model = name } }

func auth(a Auth) option { return func(in *Input) { in.Auth = a } }

func perModel(in *Input) { in.PerModelQuota = true }

func noCooling(in *Input) { in.DisableCooling = true }

func with(change func(*Options)) option {
	return func(in *Input) {
		if in.Options == nil {
			in.Options = &Options{}
		}
		change(in.Options)
	}
}

// input builds the sheet's CFE(status, text, level, provider).
func input(status int, body string, level int, provider string, options ...option) Input {
	in := Input{Status: status, Body: []byte(body), Level: level, Provider: provider, Now: t0}
	switch provider {
	case "":
	case "claude", "codex", "antigravity", "cursor", "kiro", "github", "grok-web", "chatgpt-web":
		in.Profile = oauthProfile
	default:
		in.Profile = apiKeyProfile
	}
	for _, o := range options {
		o(&in)
	}
	return in
}

func cfe(status int, body string, level int, provider string, options ...option) outcome.Outcome {
	return Response(input(status, body, level, provider, options...))
}

// want is what a case pins; zero fields are pinned too unless free says not.
type want struct {
	class    outcome.Class
	fallback bool
	reason   outcome.Reason
	cooldown time.Duration
	level    int // -1: the ladder is left alone
	hint     bool
}

func failure(reason outcome.Reason, cooldown time.Duration, level int) want {
	return want{class: outcome.Failure, fallback: true, reason: reason, cooldown: cooldown, level: level}
}

func hinted(reason outcome.Reason, cooldown time.Duration) want {
	w := failure(reason, cooldown, 0)
	w.hint = true
	return w
}

func refused(reason outcome.Reason) want { return want{reason: reason, level: -1} }

func moved(reason outcome.Reason) want { return want{fallback: true, reason: reason, level: -1} }

func (w want) check(t *testing.T, o outcome.Outcome) {
	t.Helper()
	level := o.Level
	if !o.SetsLevel {
		level = -1
	}
	got := want{o.Class, o.Fallback, o.Reason, o.Cooldown, level, o.UsedHint}
	if got != w {
		t.Errorf("got  %+v\nwant %+v\nfrom %+v", got, w, o)
	}
}

// verdict is one case: an answer and what must be made of it.
type verdict struct {
	name string
	got  outcome.Outcome
	want want
	also func(outcome.Outcome) bool
}

func verdicts(t *testing.T, list []verdict) {
	t.Helper()
	for _, v := range list {
		t.Run(v.name, func(t *testing.T) {
			v.want.check(t, v.got)
			if v.also != nil && !v.also(v.got) {
				t.Errorf("the rest of the verdict is wrong: %+v", v.got)
			}
		})
	}
}
