package proxy

import (
	"encoding/json"

	"breakwater/proxy/dialect"
)

// unfit reports whether a whole JSON answer does not count as one, although its
// status is good (combos sheet §2.4). Without a combo only silence is
// suspicious, and with nobody left to ask even that is passed on.
func (t *attempt) unfit(doc []byte) bool {
	x, w := t.x, t.x.combo
	if x.more && x.rt.dialect.EmptyDocument(doc) {
		return true
	}
	if w == nil {
		return false
	}
	if x.more && (x.rt.dialect.OnlyReasoned(doc) || x.rt.dialect.Unfinished(doc)) {
		return true
	}
	return w.invalid(x.rt.dialect, doc)
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
