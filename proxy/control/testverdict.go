package control

import (
	"bytes"
	"context"

	"breakwater/proxy/dialect"
	"breakwater/proxy/scrub"
	"breakwater/resilience/classify"
	"breakwater/resilience/outcome"
)

// The words of a test for what has none of its own, or none that help.
const (
	wordsKeyNotValid = "the key is not valid"
	wordsPage        = "a web page came instead of an answer"
)

// test asks the provider as a connection test does, and judges the answer as a
// request would. Without an answer there is nothing to judge.
func (s *Service) test(ctx context.Context, r *Route) (Tested, outcome.Outcome) {
	got := s.cfg.Tester(ctx, r)
	if got.StatusCode == 0 {
		return got, outcome.Outcome{}
	}
	o := s.judgeTest(r, &got)
	if o.Class != outcome.Success {
		got.TestResult = stated(got.TestResult, o)
	}
	return got, o
}

// judgeTest is the judgement of a test's answer, without any key in its words.
func (s *Service) judgeTest(r *Route, got *Tested) outcome.Outcome {
	in := s.Judge(r, got.Model)
	in.Status, in.Header, in.Body = got.StatusCode, got.Header, scrub.Text(got.Body, r.Key())
	var o outcome.Outcome
	switch {
	case got.StatusCode >= 400:
		o = classify.Response(in)
	case got.StatusCode >= 300 || isForeign(got):
		o = classify.NoAnswer(in)
	case got.StatusCode == 200 && len(got.Body) == 0 && len(got.Models) == 0:
		o = classify.Transport(classify.EmptyAnswer, in)
	default:
		return outcome.Outcome{Class: outcome.Success, Status: got.StatusCode}
	}
	o.Words = outcome.CleanWords(scrub.Words(o.Words, r.Key()))
	return o
}

// isForeign reports whether a good status came with something else than the
// API's: a page, a text, or JSON of another shape (ruling 56).
func isForeign(got *Tested) bool {
	body := bytes.TrimSpace(bytes.TrimPrefix(got.Body, []byte("\xef\xbb\xbf")))
	if len(body) == 0 || len(got.Models) > 0 {
		return false
	}
	return body[0] != '{' && body[0] != '[' || dialect.IsForeign(body)
}

// stated is a test's result with the reason that a request would state, and in
// its words.
func stated(res TestResult, o outcome.Outcome) TestResult {
	d := &res.Diagnosis
	res.Valid, d.Reason = false, string(o.Reason)
	if o.Reason == outcome.ReasonWrongAddress || res.Warning != "" {
		return res // the address that was asked is said, and what to change
	}
	d.Type, d.Message = found(o)
	d.Words = o.Words
	res.Error = d.Message
	return res
}

// found returns the closed word (settings sheet §2.11) and the sentence for a
// refused test. The refusal's own words follow, except those for a refused key.
func found(o outcome.Outcome) (kind, message string) {
	switch {
	case o.Reason == outcome.ReasonNotAPI:
		return "not_api", wordsPage
	case o.Reason == outcome.ReasonEmptyAnswer:
		return "upstream_error", "the answer was empty"
	case o.Permanent:
		kind, message = "account_deactivated", "the provider says that the account is disabled"
	case o.Terminal == outcome.CreditsExhausted, o.CreditsExhausted:
		kind, message = "upstream_auth_error", "the provider says that there is no credit"
	case o.Reason == outcome.ReasonAuth && o.Status != 403:
		return "upstream_auth_error", wordsKeyNotValid
	case o.Status == 403:
		kind, message = "upstream_auth_error", "the provider refused the key"
	case o.Reason == outcome.ReasonRateLimit, o.Reason == outcome.ReasonQuota, o.Reason == outcome.ReasonConcurrencyLimited:
		kind, message = "upstream_rate_limited", "the provider says that a limit is reached"
	case o.Status >= 500:
		kind, message = "upstream_unavailable", "the provider has a fault of its own"
	default:
		kind, message = "upstream_error", "the provider refused the test"
	}
	if o.Words != "" {
		message += ": " + o.Words
	}
	return kind, message
}
