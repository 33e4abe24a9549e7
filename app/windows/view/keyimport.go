package view

import (
	"fmt"
	"slices"
	"strings"

	"breakwater/app/setup"
	"breakwater/proxy/control"
)

// KeyOffer is a key that was found on this machine and may become a connection.
type KeyOffer struct {
	Provider, Name string // id, and the name of the connection to be
	Where          string // source and the key's last letters
	Note           string // why it is not taken unasked
	On             bool

	input control.ConnectionInput
}

// Input is the connection to be.
func (o KeyOffer) Input() control.ConnectionInput { return o.input }

// KeyNames returns the variables that hold the keys of the catalogue's
// providers.
func KeyNames(list []control.Provider) []string {
	var out []string
	for _, p := range list {
		if p.KeyEnv != "" && !slices.Contains(out, p.KeyEnv) {
			out = append(out, p.KeyEnv)
		}
	}
	return out
}

// KeyOffers turns keys that were found into connections to be. Where the
// provider has a connection already, or the key is a second one, the user has to
// choose it.
func KeyOffers(found []setup.Key, list []control.Provider, s control.Snapshot) []KeyOffer {
	taken, has := map[string]bool{}, map[string]bool{}
	for _, c := range s.Connections {
		taken[c.Name], has[c.Provider] = true, true
	}
	var out []KeyOffer
	second := map[string]bool{}
	for _, k := range found {
		at := slices.IndexFunc(list, func(p control.Provider) bool { return p.KeyEnv == k.Env })
		if at < 0 {
			continue
		}
		p := list[at]
		o := KeyOffer{Provider: p.ID, Name: freeName(p.Name, taken), Where: ShortPath(k.Source) + " · …" + tail(k.Value), On: true}
		switch {
		case has[p.ID]:
			o.On, o.Note = false, T("There is a connection to it already.")
		case second[p.ID]:
			o.On, o.Note = false, T("A second key of the same provider.")
		}
		taken[o.Name], second[p.ID] = true, true
		o.input = control.ConnectionInput{Provider: p.ID, Name: o.Name, APIKey: k.Value, Credential: keyCredential(p)}
		out = append(out, o)
	}
	return out
}

// keyCredential is the kind of credential that takes a pasted key.
func keyCredential(p control.Provider) string {
	for _, c := range p.Credentials {
		if NeedsKey(c) {
			return c
		}
	}
	return ""
}

// freeName returns a name that no connection has, with a number where needed.
func freeName(name string, taken map[string]bool) string {
	for n := 2; taken[name]; n++ {
		base, _, _ := strings.Cut(name, " #")
		name = fmt.Sprintf("%s #%d", base, n)
	}
	return name
}

func tail(key string) string { return key[max(0, len(key)-4):] }

// KeysImported tells what an import did.
func KeysImported(added, failed []string) string {
	out := Tf("Added: %s.", strings.Join(added, ", "))
	if len(added) == 0 {
		out = T("Nothing was added.")
	}
	if len(failed) > 0 {
		out += " " + Tf("Not usable: %s.", strings.Join(failed, ", "))
	}
	return out
}
