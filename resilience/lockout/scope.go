package lockout

import "strings"

// Scope is the shape of a lock's key (guide §3, "Alcance según el estado").
type Scope uint8

// The three shapes.
const (
	Family Scope = iota // the quota family the model belongs to
	Raw                 // the model as it is named
	Exact               // this very model, whatever its family
)

// ScopeFor says which shape a failure locks: a signal of quota or entitlement
// reaches the family, a missing model only itself, and a server fault proves
// nothing about either, so it locks the exact model.
func ScopeFor(provider string, status int, reason string) Scope {
	switch status {
	case 429, 403, 402:
		return Family
	}
	// Antigravity's missing models must not take their family along (case 207).
	if (status == 404 || reason == ReasonNotFound) && Canonical(provider) != antigravity {
		return Raw
	}
	return Exact
}

const (
	codex       = "codex"
	antigravity = "antigravity"
)

// Canonical returns the provider's name behind its aliases.
func Canonical(provider string) string {
	switch p := strings.ToLower(strings.TrimSpace(provider)); p {
	case "cx":
		return codex
	case "agy":
		return antigravity
	default:
		return p
	}
}

// QuotaModel returns the quota family of a model: what shares its quota at
// that provider. provider is canonical.
func QuotaModel(provider, model string) string {
	switch provider {
	case codex:
		if name := strings.ToLower(model); strings.Contains(name, "spark") || strings.Contains(name, "bengalfox") {
			return "spark"
		}
		return codex
	case antigravity:
		name := strings.ToLower(model)
		switch {
		case strings.Contains(name, "gemini"):
			return "family:gemini"
		case strings.Contains(name, "claude-"), strings.Contains(name, "cloud-"), strings.Contains(name, "anthropic"):
			return "family:claude"
		}
	}
	return model
}

// key is what a lock is stored under, within one connection.
type key struct {
	exact bool
	name  string
}

func keyOf(provider, model string, s Scope) key {
	switch s {
	case Exact:
		return key{exact: true, name: strings.ToLower(strings.TrimSpace(model))}
	case Raw:
		return key{name: model}
	default:
		return key{name: QuotaModel(provider, model)}
	}
}

// hits reports whether a lock of this key keeps the model out; family is the
// model's own.
func (k key) hits(model, family string) bool {
	if k.exact {
		return strings.EqualFold(k.name, strings.TrimSpace(model))
	}
	return k.name == model || k.name == family
}
