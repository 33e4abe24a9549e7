package view

import (
	"slices"
	"strings"

	"breakwater/proxy/control"
)

// Draft is what the add and edit dialog holds while it is open.
type Draft struct {
	Provider       string
	Name           string
	Credential     string
	Key            string
	BaseURL        string
	Dialects       []string
	DefaultModel   string
	ProxyURL       string // as the facade has it, with a login where one was typed
	Models         string // separated by commas or spaces
	DisableCooling bool
	LowPriority    bool
	AutoReset      bool
	PerModel       string            // an answer of PerModelOptions
	Limits         map[string]string // as typed, by the keys of LimitLines
}

// NewDraft returns the draft of a new connection of a provider.
func NewDraft(p control.Provider) Draft {
	d := Draft{Provider: p.ID, Dialects: slices.Clone(p.Dialects), Limits: map[string]string{}}
	if len(p.Credentials) > 0 {
		d.Credential = p.Credentials[0]
	}
	return d
}

// EditDraft returns the draft of a stored connection; its key stays away.
func EditDraft(c control.Connection) Draft {
	d := Draft{
		Provider: c.Provider, Name: c.Name, Credential: c.Credential, Dialects: slices.Clone(c.Dialects),
		DefaultModel: c.DefaultModel, Models: strings.Join(c.Models, ", "), DisableCooling: c.DisableCooling,
		ProxyURL: c.ProxyURL, LowPriority: c.LowPriorityMode, AutoReset: c.AutoLimitReset, Limits: limitsOf(c), PerModel: answerOf(c.PerModelQuota),
	}
	if c.CustomBaseURL {
		d.BaseURL = c.BaseURL
	}
	return d
}

// Input returns the draft as a new connection of provider p.
func (d Draft) Input(p control.Provider) control.ConnectionInput {
	in := control.ConnectionInput{
		Provider: d.Provider, Name: strings.TrimSpace(d.Name), Credential: d.Credential, APIKey: d.key(),
		BaseURL: strings.TrimSpace(d.BaseURL), DefaultModel: strings.TrimSpace(d.DefaultModel), Models: Words(d.Models),
		DisableCooling: d.DisableCooling, ProxyURL: d.ProxyURL,
	}
	if p.Custom {
		in.Dialects = d.Dialects
	}
	if p.Claude {
		in.LowPriorityMode, in.AutoLimitReset = d.LowPriority, d.AutoReset
	}
	d.limitInput(&in, p.Claude)
	return in
}

// key returns the pasted secret without the blanks that copying adds, and
// nothing for a credential that has none.
func (d Draft) key() string {
	if !NeedsKey(d.Credential) {
		return ""
	}
	return strings.TrimSpace(d.Key)
}

// Patch returns what the draft changes in a stored connection of provider p.
func (d Draft) Patch(was control.Connection, p control.Provider) control.ConnectionPatch {
	old := EditDraft(was)
	var out control.ConnectionPatch
	out.Name = changed(old.Name, strings.TrimSpace(d.Name))
	out.Credential = changed(old.Credential, d.Credential)
	out.BaseURL = changed(old.BaseURL, strings.TrimSpace(d.BaseURL))
	out.DefaultModel = changed(old.DefaultModel, strings.TrimSpace(d.DefaultModel))
	out.ProxyURL = changed(old.ProxyURL, d.ProxyURL)
	out.DisableCooling = changed(old.DisableCooling, d.DisableCooling)
	if key := d.key(); key != "" {
		out.APIKey = &key
	}
	if m := Words(d.Models); !slices.Equal(m, was.Models) && len(m)+len(was.Models) > 0 {
		out.Models = &m
	}
	if p.Custom && !slices.Equal(d.Dialects, old.Dialects) {
		out.Dialects = &d.Dialects
	}
	if p.Claude {
		out.LowPriorityMode = changed(old.LowPriority, d.LowPriority)
		out.AutoLimitReset = changed(old.AutoReset, d.AutoReset)
	}
	d.limitPatch(&out, was, p.Claude)
	return out
}

func changed[V comparable](old, now V) *V {
	if old == now {
		return nil
	}
	return &now
}

// Words splits a list that a person typed at commas, blanks and line ends.
func Words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' || r == ';' })
}

// CredentialLogin is a stored login that is refreshed.
const CredentialLogin = "oauth"

// NeedsKey reports whether a kind of credential has a secret to paste.
func NeedsKey(kind string) bool { return kind == "apikey" || kind == "token" }

// CredentialName returns a kind of credential in words.
func CredentialName(kind string) string {
	switch kind {
	case "apikey":
		return T("API key")
	case "token":
		return T("Pasted token")
	case "passthrough":
		return T("The client's own sign-in")
	case CredentialLogin:
		return T("Stored sign-in")
	case "none":
		return T("None")
	}
	return kind
}

// PassthroughNote explains passthrough in two lines.
func PassthroughNote() string {
	return T("Your agent stays signed in and sends its own token; Breakwater hands it to the provider's own host, unchanged, and nowhere else.") + "\n" +
		T("Nothing is stored and nothing is refreshed, so there is no key to paste.")
}

// ProviderGroup is a group of the catalogue in the add dialog.
type ProviderGroup struct {
	Title     string
	Providers []control.Provider
}

// Group returns the catalogue in groups, narrowed to what contains the words
// of query.
func Group(list []control.Provider, query string) []ProviderGroup {
	groups := []ProviderGroup{
		{Title: T("Subscriptions")}, {Title: T("With an API key")}, {Title: T("On this machine")}, {Title: T("Anything else")},
	}
	query = strings.ToLower(strings.TrimSpace(query))
	for _, p := range list {
		if !strings.Contains(strings.ToLower(p.Name+" "+p.ID+" "+strings.Join(p.Models, " ")), query) {
			continue
		}
		at := 1
		switch {
		case p.Custom:
			at = 3
		case p.AuthType == "oauth":
			at = 0
		case p.AuthType == "local":
			at = 2
		}
		groups[at].Providers = append(groups[at].Providers, p)
	}
	return slices.DeleteFunc(groups, func(g ProviderGroup) bool { return len(g.Providers) == 0 })
}
