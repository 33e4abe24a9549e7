package proxy

import (
	"encoding/json"

	"breakwater/proxy/dialect"
	"breakwater/resilience"
)

// unfit reports whether a whole JSON answer does not count as one, although its
// status is good (combos sheet §2.4).
func (t *attempt) unfit(doc []byte) bool {
	x, d := t.x, t.x.rt.dialect
	checks := resilience.ChecksFor(x.combo != nil, x.more)
	return checks.Empty && d.EmptyDocument(doc) || checks.OnlyReasoning && d.OnlyReasoned(doc) ||
		checks.Unfinished && d.Unfinished(doc) || checks.Validation && x.combo.invalid(d, doc)
}

// invalid applies what the combo asks of an answer. A call of a tool says
// nothing in words, and is taken.
func (w *comboWalk) invalid(d dialect.Name, doc []byte) bool {
	v := w.config.Validation
	if v == nil || d.CallsTool(doc) {
		return false
	}
	_, ok := v.Check(d.AnswerText(doc), func() any {
		var root any
		_ = json.Unmarshal(doc, &root) // what is no JSON has no paths
		return root
	})
	return !ok
}
