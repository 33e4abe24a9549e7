package view

import (
	"fmt"
	"slices"
	"strings"

	"breakwater/proxy/control"
)

// Prices are the list prices of known models, to estimate what an answer cost.
type Prices map[string]map[string]price // by provider and model

// price is in US dollars a million tokens.
type price struct{ input, output float64 }

// cachedShare is what a token read from the provider's cache costs of a fresh
// one: a tenth is usual.
const cachedShare = 0.1

// NewPrices takes the prices out of the catalogue.
func NewPrices(list []control.Provider) Prices {
	out := Prices{}
	for _, p := range list {
		for _, m := range p.KnownModels {
			if m.Input == nil || m.Output == nil {
				continue
			}
			if out[p.ID] == nil {
				out[p.ID] = map[string]price{}
			}
			out[p.ID][m.Name] = price{*m.Input, *m.Output}
		}
	}
	return out
}

// find returns the price of a model; a date at its end is no part of its name.
func (p Prices) find(provider, model string) (price, bool) {
	known := p[provider]
	if x, ok := known[model]; ok {
		return x, true
	}
	if at := strings.LastIndexByte(model, '-'); at > 0 && strings.Trim(model[at+1:], "0123456789") == "" {
		x, ok := known[model[:at]]
		return x, ok
	}
	return price{}, false
}

// Estimate returns what an answer cost at list prices, in US dollars, and
// whether tokens and price are known.
func (p Prices) Estimate(a control.Activity) (dollars float64, known bool) {
	if a.InputTokens+a.OutputTokens+a.CacheReadTokens+a.CacheWriteTokens == 0 {
		return 0, false
	}
	x, known := p.find(a.Provider, answeredModel(a))
	if !known {
		return 0, false
	}
	in := float64(a.InputTokens+a.CacheWriteTokens) + cachedShare*float64(a.CacheReadTokens)
	return (in*x.input + float64(a.OutputTokens)*x.output) / 1e6, true
}

// answeredModel is the model that answered, under the name its provider knows.
func answeredModel(a control.Activity) string {
	for _, s := range slices.Backward(a.Trace) {
		if s.Kind == control.StepAnswered && s.Model != "" {
			return s.Model
		}
	}
	return a.Model
}

// Dollars returns an amount in words: three places below a dollar, two above.
func Dollars(d float64) string {
	switch {
	case d == 0:
		return "$0"
	case d < 0.001:
		return "<$0.001"
	case d < 1:
		return fmt.Sprintf("$%.3f", d)
	}
	return fmt.Sprintf("$%.2f", d)
}

// Cost returns the estimate in words, nothing where it is not known.
func (p Prices) Cost(a control.Activity) string {
	if d, ok := p.Estimate(a); ok {
		return Dollars(d)
	}
	return ""
}

// Tokens returns what went in and came out, as "12.4 k / 830".
func Tokens(a control.Activity) string {
	in := a.InputTokens + a.CacheReadTokens + a.CacheWriteTokens
	if in+a.OutputTokens == 0 {
		return ""
	}
	return thousands(in) + " / " + thousands(a.OutputTokens)
}

func thousands(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 100_000:
		return fmt.Sprintf("%.1f k", float64(n)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%d k", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f M", float64(n)/1e6)
}

// TokensTip tells the tokens one by one.
func TokensTip(a control.Activity) string {
	out := Tf("in %d, out %d", a.InputTokens, a.OutputTokens)
	if a.CacheReadTokens+a.CacheWriteTokens > 0 {
		out += ", " + Tf("read from the cache %d, written to it %d", a.CacheReadTokens, a.CacheWriteTokens)
	}
	if a.ReasoningTokens > 0 {
		out += ", " + Tf("of them reasoning %d", a.ReasoningTokens)
	}
	return out
}

// TraceCost tells tokens and cost at the end of a story.
func TraceCost(a control.Activity, p Prices) string {
	if Tokens(a) == "" {
		return ""
	}
	out := Tf("Tokens: %s.", TokensTip(a))
	if cost := p.Cost(a); cost != "" {
		out += " " + Tf("About %s at list prices.", cost)
	}
	return out
}
