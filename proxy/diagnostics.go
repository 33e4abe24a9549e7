package proxy

import (
	"fmt"
	"net/http"
	"strings"

	"breakwater/resilience"
	"breakwater/resilience/combo"
)

// diagnosis says why no target of a combo answered (guide, "Depuración"). It is
// a projection onto named fields with bounds, so that nothing else, least of
// all a key, gets into an answer.
type diagnosis struct {
	Diagnostics struct {
		PoolSize       int           `json:"poolSize"`
		Attempted      int           `json:"attempted"`
		Excluded       []excludedRow `json:"excluded"`
		AttemptOrder   []attemptRow  `json:"attemptOrder"`
		TerminalReason string        `json:"terminalReason"`
	}
	Recovery *recovery
}

type excludedRow struct {
	Provider string `json:"provider"`
	Model    string `json:"model,omitempty"`
	Reason   string `json:"reason"`
}

type attemptRow struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// recovery tells the client's owner what would help.
type recovery struct {
	Action     string `json:"action"` // wait, retry, try-auto, switch-combo
	NextStep   string `json:"next_step"`
	RetryAfter int    `json:"retry_after_seconds,omitempty"`
}

// The bounds of the projection (combos sheet §2.9).
const (
	maxRows       = 64
	maxProvider   = 64
	maxModel      = 96
	maxReason     = 64
	maxTerminal   = 200
	maxNextStep   = 128
	maxExcluded   = 900 // of the header
	maxRetrySecs  = 3600
	headerPrefix  = "X-Omniroute-Combo-"
	recoverPrefix = "X-Omniroute-Recovery-"
)

func (w *comboWalk) diagnose(a comboAnswer) diagnosis {
	var d diagnosis
	g := &d.Diagnostics
	g.Excluded, g.AttemptOrder = []excludedRow{}, []attemptRow{}
	g.PoolSize, g.Attempted = len(w.pass.excluded), len(w.tried)
	if w.plan != nil {
		g.PoolSize = len(w.plan.Order) + len(w.plan.LastResort)
	}
	g.TerminalReason = plain(a.terminal, maxTerminal)
	for _, e := range w.pass.excluded {
		if len(g.Excluded) < maxRows {
			g.Excluded = append(g.Excluded, excludedRow{plain(e.Target.Provider, maxProvider), plain(e.Target.ModelID(), maxModel), plain(string(e.Reason), maxReason)})
		}
	}
	for _, t := range w.tried {
		if len(g.AttemptOrder) < maxRows {
			g.AttemptOrder = append(g.AttemptOrder, attemptRow{plain(t.provider, maxProvider), plain(t.model, maxModel)})
		}
	}
	d.Recovery = recoverBy(a)
	return d
}

// recoverBy says what would help (combos sheet §2.9, "Recovery verbs").
func recoverBy(a comboAnswer) *recovery {
	r := &recovery{Action: "retry", NextStep: "Send the request again."}
	switch a.terminal {
	case reasonQuota, combo.NoExecutable, combo.ContextExhausted, reasonAllSkipped:
		r.Action, r.NextStep = "switch-combo", "Use another combo or model, or look at the connections."
	case string(resilience.StopAttempts), reasonAllFailed:
		r.Action, r.NextStep = "try-auto", "Use the model auto, which takes whoever is well."
	case combo.AllCoolingDown:
		r.Action, r.NextStep = "wait", "Wait until the first target is back."
	}
	if a.wait > 0 && a.Status == http.StatusTooManyRequests {
		r.Action, r.NextStep = "wait", "Wait until the first target is back."
	}
	if a.wait > 0 {
		r.RetryAfter = min(wholeSeconds(a.wait), maxRetrySecs)
	}
	return r
}

// headers writes the diagnosis as response headers.
func (d *diagnosis) headers(h http.Header) {
	g := &d.Diagnostics
	h.Set(headerPrefix+"Pool-Size", fmt.Sprint(g.PoolSize))
	h.Set(headerPrefix+"Attempted", fmt.Sprint(g.Attempted))
	h.Set(headerPrefix+"Terminal-Reason", latin(g.TerminalReason))
	var list []string
	for _, e := range g.Excluded {
		list = append(list, e.Provider+"/"+e.Model+":"+e.Reason)
	}
	if len(list) > 0 {
		h.Set(headerPrefix+"Excluded", plain(latin(strings.Join(list, ",")), maxExcluded))
	}
	if d.Recovery == nil {
		return
	}
	h.Set(recoverPrefix+"Action", d.Recovery.Action)
	h.Set(recoverPrefix+"Next-Step", plain(latin(d.Recovery.NextStep), maxNextStep))
	if d.Recovery.RetryAfter > 0 {
		h.Set("X-Omniroute-Retry-After-Seconds", fmt.Sprint(d.Recovery.RetryAfter))
	}
}

// plain takes line breaks out of a text and cuts it.
func plain(s string, limit int) string {
	s = strings.NewReplacer("\r", "", "\n", "").Replace(s)
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return s
}

// latin replaces what a header cannot hold.
func latin(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0xff || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}
