package combo

import (
	"context"
	"errors"
	"strings"
)

// RunPipeline sends the request through the steps, each of which works on the
// text of the one before. Only the last keeps the client's stream flag and
// tools.
func RunPipeline(ctx context.Context, steps []*Target, call Caller) (Answer, error) {
	if len(steps) == 0 {
		return Answer{}, &Refusal{
			Status: 400, Code: "pipeline_empty", Type: "invalid_request_error",
			Message: "The pipeline combo has no steps.",
		}
	}
	user := ""
	last := len(steps) - 1
	for i, t := range steps[:last] {
		a, err := call(ctx, Call{Target: t, System: t.Prompt, User: user})
		if ctx.Err() != nil {
			return Answer{}, Verdict(ctx, t.Model, err)
		}
		if refused := stepFailure(i, t, a, err); refused != nil {
			return a, refused
		}
		user = a.Text
	}
	return call(ctx, Call{Target: steps[last], System: steps[last].Prompt, User: user, Final: true})
}

func stepFailure(i int, t *Target, a Answer, err error) *Refusal {
	r := &Refusal{Status: 502, Code: "pipeline_step_failed", Type: "api_error", Terminal: "all_models_failed"}
	at := "Step " + itoa(i+1) + " of the pipeline (" + t.Model + ") "
	var inner *Refusal
	switch {
	case errors.As(err, &inner):
		r.Status, r.RetryAfter = inner.Status, inner.RetryAfter
		r.Message = at + "failed: " + inner.Message
	case err != nil:
		r.Message = at + "failed: " + err.Error()
	case !a.OK():
		if a.Status >= 400 {
			r.Status = a.Status
		}
		r.Message = at + "failed."
	case strings.TrimSpace(a.Text) == "":
		r.Message = at + "returned no text."
	default:
		return nil
	}
	return r
}
