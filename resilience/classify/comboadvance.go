package classify

import (
	"regexp"
	"strings"

	"breakwater/resilience/hint/errbody"
)

// Advance is what a 400 means for the rest of a combo's targets.
type Advance uint8

// The meanings, in the order in which they are looked for (combos sheet §2.5,
// "400 rules in order").
const (
	// AdvanceLarger: the conversation does not fit; another model may be larger.
	AdvanceLarger Advance = iota
	// AdvanceParameter: this model does not take a parameter as it is.
	AdvanceParameter
	// AdvanceModel: this connection does not serve the model.
	AdvanceModel
	// AdvanceOther: nobody knows; the next target may do better.
	AdvanceOther
	// StopHere: the request itself is malformed; every target would refuse it.
	StopHere
)

var (
	modelNear = regexp.MustCompile(`model.{0,80}(not supported|unsupported|unknown|unavailable)|(not supported|unsupported|unknown|unavailable).{0,80}model`)
	overflows = regexp.MustCompile(`context[ _-]?(length[ _]exceeded|(is )?too long|overflow|exceeded|window|limit)|exceeds .{0,60}context|your input exceeds`)
	parameter = regexp.MustCompile(`max_tokens.{0,80}(illegal|must|range|invalid)|parameter is illegal|is illegal.{0,80}range`)
	bodyWords = regexp.MustCompile(`\b(malformed|context|prompt|token)\b`)
)

// OnBadRequest reads the body of a 400 that a target of a combo gave.
func OnBadRequest(body []byte) Advance {
	b := errbody.Parse(body)
	text := b.Said()
	switch {
	case malformed.in(text), policyRefusal.in(b.OwnWords()): // ruling 55 (c)
		return StopHere
	case overflows.MatchString(text):
		return AdvanceLarger
	case parameter.MatchString(text):
		return AdvanceParameter
	case contextOverflow.in(text):
		return AdvanceLarger
	case modelNear.MatchString(text), strings.Contains(text, "unsupported_api_for_model"),
		strings.Contains(text, "does not support responses api"), modelAccess.in(text):
		return AdvanceModel
	case strings.Contains(text, "invalid message format"), bodyWords.MatchString(text):
		return StopHere
	}
	return AdvanceOther
}
