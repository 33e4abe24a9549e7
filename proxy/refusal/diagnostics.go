package refusal

import (
	"net/http"
	"strconv"
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
	Recovery recovery
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

// recovery names what would help.
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

func diagnose(c *Combo, v ending) diagnosis {
	var d diagnosis
	g := &d.Diagnostics
	g.Excluded, g.AttemptOrder = []excludedRow{}, []attemptRow{}
	g.PoolSize, g.Attempted = len(c.Excluded), len(c.Attempts)
	if c.Planned {
		g.PoolSize = c.PoolSize
	}
	g.TerminalReason = plain(v.terminal, maxTerminal)
	for _, e := range c.Excluded[:min(len(c.Excluded), maxRows)] {
		g.Excluded = append(g.Excluded, excludedRow{
			plain(e.Target.Provider, maxProvider), plain(e.Target.ModelID(), maxModel), plain(e.Reason.Diagnostic(), maxReason),
		})
	}
	for _, t := range c.Attempts[:min(len(c.Attempts), maxRows)] {
		g.AttemptOrder = append(g.AttemptOrder, attemptRow{plain(t.Provider, maxProvider), plain(t.Model, maxModel)})
	}
	d.Recovery = recoverBy(v)
	return d
}

// recoverBy says what would help (combos sheet §2.9, "Recovery verbs").
func recoverBy(v ending) recovery {
	wait := recovery{Action: "wait", NextStep: "Wait until the first target is back."}
	r := recovery{Action: "retry", NextStep: "Send the request again."}
	switch v.terminal {
	case reasonQuota, combo.NoExecutable, combo.ContextExhausted, reasonAllSkipped:
		r = recovery{Action: "switch-combo", NextStep: "Use another combo or model, or check the connections."}
	case string(resilience.StopAttempts), reasonAllFailed:
		r = recovery{Action: "try-auto", NextStep: "Use the model auto, which picks a healthy target."}
	case combo.AllCoolingDown:
		r = wait
	}
	if v.Wait > 0 && v.Status == http.StatusTooManyRequests {
		r = wait
	}
	if v.Wait > 0 {
		r.RetryAfter = min(seconds(v.Wait), maxRetrySecs)
	}
	return r
}

// headers writes the diagnosis as response headers.
func (d *diagnosis) headers(h http.Header) {
	g := &d.Diagnostics
	h.Set(headerPrefix+"Pool-Size", strconv.Itoa(g.PoolSize))
	h.Set(headerPrefix+"Attempted", strconv.Itoa(g.Attempted))
	h.Set(headerPrefix+"Terminal-Reason", latin(g.TerminalReason))
	var list []string
	for _, e := range g.Excluded {
		list = append(list, e.Provider+"/"+e.Model+":"+e.Reason)
	}
	if len(list) > 0 {
		h.Set(headerPrefix+"Excluded", plain(latin(strings.Join(list, ",")), maxExcluded))
	}
	h.Set(recoverPrefix+"Action", d.Recovery.Action)
	h.Set(recoverPrefix+"Next-Step", plain(latin(d.Recovery.NextStep), maxNextStep))
	if d.Recovery.RetryAfter > 0 {
		h.Set("X-Omniroute-Retry-After-Seconds", strconv.Itoa(d.Recovery.RetryAfter))
	}
}
