package control

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// Extras are what a connection may have of its own beside its limits (settings
// sheet §6.3).
type Extras struct {
	// ExcludedModels are patterns of models that it is never asked for, whatever
	// its provider offers.
	ExcludedModels []string `json:"excludedModels,omitempty"`
	// UserAgent is sent in place of the client's.
	UserAgent string `json:"customUserAgent,omitempty"`
	// ValidationModel is what a test asks for; empty has it ask for the list of
	// models.
	ValidationModel string `json:"validationModelId,omitempty"`
	// PerModelQuota says whether a used-up quota concerns one model only; nil
	// leaves it to the provider.
	PerModelQuota *bool `json:"passthroughModels,omitempty"`
}

const maxUserAgent = 300

// patch changes the extras by what the patch holds.
func (x *Extras) patch(bad *problems, p ConnectionPatch) {
	set(&x.ExcludedModels, p.ExcludedModels)
	set(&x.UserAgent, p.UserAgent)
	set(&x.ValidationModel, p.ValidationModel)
	x.trim()
	if p.PerModelQuota.Given {
		x.PerModelQuota = nil
		if json.Unmarshal([]byte(p.PerModelQuota.JSON), &x.PerModelQuota) != nil {
			bad.add("passthroughModels", "true, false, or null for what the provider does")
		}
	}
}

// trim takes off what nobody means to give: spaces and doubles.
func (x *Extras) trim() {
	x.ExcludedModels = distinct(x.ExcludedModels)
	x.UserAgent, x.ValidationModel = strings.TrimSpace(x.UserAgent), strings.TrimSpace(x.ValidationModel)
}

func (x *Extras) check(bad *problems) {
	if len(x.ExcludedModels) > maxModels || slices.ContainsFunc(x.ExcludedModels, func(m string) bool { return m == "" || len(m) > maxModel }) {
		bad.add("excludedModels", "at most %d patterns of 1 to %d characters", maxModels, maxModel)
	}
	if len(x.UserAgent) > maxUserAgent || strings.ContainsFunc(x.UserAgent, func(c rune) bool { return c < ' ' || c > '~' }) {
		bad.add("customUserAgent", "at most %d plain characters", maxUserAgent)
	}
	if len(x.ValidationModel) > maxModel || strings.ContainsFunc(x.ValidationModel, unicode.IsControl) {
		bad.add("validationModelId", "at most %d characters, no control characters", maxModel)
	}
}

// Excludes reports whether the connection is never asked for the model.
func (r *Route) Excludes(model string) bool { return matches(r.Record.ExcludedModels, model) }

// PerModelQuota reports whether a used-up quota concerns one model only.
func (r *Route) PerModelQuota() bool {
	if own := r.Record.PerModelQuota; own != nil {
		return *own
	}
	return r.Provider.PerModelQuota
}
