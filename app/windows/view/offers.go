package view

import "breakwater/proxy/control"

// DemoCommand starts the demo in a terminal.
const DemoCommand = "breakwater --demo"

// Offer is one way to begin, shown while there is no connection.
type Offer struct {
	Icon, Title, Line string
	Demo              bool   // explains how to start the demo
	Provider          string // opens the add dialog for it; empty lets choose
	KeyEnv            string // takes the key from this variable
}

// Offers returns the four ways to begin. The key offer names the first
// variable of the catalogue that is set, ANTHROPIC_API_KEY first; startsDemo
// says that the demo can be started from here.
func Offers(providers []control.Provider, startsDemo bool, secretsIn string, getenv func(string) string) []Offer {
	demo := T("Two simulated connections to break and mend, without any account. Copies the command.")
	if startsDemo {
		demo = T("Two simulated connections to break and mend, without any account. Opens a window of its own.")
	}
	key := Offer{Icon: "key", Title: T("Use an API key"), Line: T("Paste a key from Anthropic. It is kept in an encrypted file."), Provider: "anthropic"}
	if secretsIn == keychain {
		key.Line = T("Paste a key from Anthropic. It is kept in the system's keychain.")
	}
	if p, ok := keyInEnv(providers, getenv); ok {
		key = Offer{
			Icon: "key", Title: Tf("Use the key in %s", p.KeyEnv), Provider: p.ID, KeyEnv: p.KeyEnv,
			Line: Tf("Found in your environment. It becomes a connection to %s.", p.Name),
		}
	}
	return []Offer{
		key,
		{
			Icon: "person", Title: T("I have a Claude subscription"), Provider: "claude",
			Line: T("Stay signed in as you are: the sign-in of Claude Code is passed through, never stored."),
		},
		{Icon: "add", Title: T("Add another provider"), Line: T("OpenAI, OpenRouter, GLM, Kimi, a model on this machine, and more.")},
		{Icon: "demo", Title: T("Try the demo"), Demo: true, Line: demo},
	}
}

func keyInEnv(providers []control.Provider, getenv func(string) string) (control.Provider, bool) {
	var found *control.Provider
	for i := range providers {
		p := &providers[i]
		if p.KeyEnv == "" || p.Claude || getenv(p.KeyEnv) == "" {
			continue
		}
		if p.ID == "anthropic" {
			return *p, true
		}
		if found == nil {
			found = p
		}
	}
	if found == nil {
		return control.Provider{}, false
	}
	return *found, true
}
