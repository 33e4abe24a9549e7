package combo

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Call is one question that fusion or pipeline asks on the client's behalf. The
// caller makes the body of it.
type Call struct {
	Target *Target
	// Final is the call whose answer the client gets: it keeps the client's own
	// stream flag and tools. Every other one is sent without both.
	Final bool
	// System is a further system turn, empty for none.
	System string
	// User replaces the text of the user, when it is not empty.
	User string
	// Sources are the answers a judge is shown, in order, without model names.
	Sources []string
}

// Answer is what came of a call. Value is the caller's own and handed back.
type Answer struct {
	Status int
	Text   string
	Value  any
}

// OK reports a success.
func (a Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// Caller sends a call and returns when it is answered or ctx is over.
type Caller func(ctx context.Context, c Call) (Answer, error)

// judgeTask is the system turn of a judge.
const judgeTask = "Several independent answers to the conversation follow, each under the heading Source and a number. " +
	"Weigh them against each other, keep what is right, correct what is wrong, and give one complete answer of your own. " +
	"Do not mention the sources."

// JudgeText is the turn that shows a judge the sources.
func JudgeText(sources []string) string {
	var b strings.Builder
	for i, s := range sources {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString("Source ")
		b.WriteString(itoa(i + 1))
		b.WriteString(":\n")
		b.WriteString(s)
	}
	return b.String()
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

// errCeiling is the cause of a context that its target's ceiling has ended.
var errCeiling = errors.New("the target timed out")

// Ceiling returns a context that ends after limit, or with its parent; a limit
// that is not positive sets no timer. lift takes the limit away, at the commit
// point; stop releases everything.
func Ceiling(parent context.Context, limit time.Duration) (ctx context.Context, lift, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	if limit <= 0 {
		return ctx, func() {}, func() { cancel(nil) }
	}
	t := time.AfterFunc(limit, func() { cancel(errCeiling) })
	return ctx, func() { t.Stop() }, func() {
		t.Stop()
		cancel(nil)
	}
}

// TimedOut reports whether a context's cause is the ceiling of its target.
func TimedOut(cause error) bool { return errors.Is(cause, errCeiling) }

// CodeTargetTimeout is the code of the synthetic 504 (ruling 3).
const CodeTargetTimeout = "combo_target_timeout"

// Verdict is the answer that stands for an attempt which ended in an error: 504
// when its ceiling was reached, 499 when the client or a faster sibling ended
// it, else 502.
func Verdict(ctx context.Context, model string, err error) *Refusal {
	switch {
	case errors.Is(context.Cause(ctx), errCeiling):
		return &Refusal{
			Status: 504, Code: CodeTargetTimeout, Type: "timeout_error",
			Message: model + " timed out before it began to answer.",
		}
	case ctx.Err() != nil:
		return &Refusal{Status: 499, Code: "request_aborted", Type: "aborted", Message: "Request aborted"}
	default:
		message := "the attempt failed"
		if err != nil {
			message = err.Error()
		}
		return &Refusal{Status: 502, Code: "upstream_error", Type: "api_error", Message: message}
	}
}
