package combo

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// FusionTuning bounds a fusion panel.
type FusionTuning struct {
	MinPanel           int `json:"minPanel"`
	StragglerGraceMs   int `json:"stragglerGraceMs"`
	PanelHardTimeoutMs int `json:"panelHardTimeoutMs"`
	MaxPanel           int `json:"maxPanel"`
}

// DefaultFusion returns the built-in tuning.
func DefaultFusion() FusionTuning {
	return FusionTuning{MinPanel: 2, StragglerGraceMs: 8000, PanelHardTimeoutMs: 90_000, MaxPanel: 40}
}

// validFusion accepts an object of the known keys only.
func validFusion(v any) bool {
	b, err := json.Marshal(v)
	if err != nil || !isObject(v) {
		return false
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	t := DefaultFusion()
	return d.Decode(&t) == nil && t.MinPanel >= 1 && t.StragglerGraceMs >= 0 && t.PanelHardTimeoutMs > 0 && t.MaxPanel >= 1
}

func readFusion(c *Config, v any) bool {
	if !validFusion(v) {
		return false
	}
	return decodeInto(v, &c.Fusion)
}

// FusionRequest is a request for a fusion combo.
type FusionRequest struct {
	Panel []*Target
	Judge *Target // of judgeModel; nil: one of the panel judges
	// Tools tells that the request carries tools and may use them: then one
	// model answers alone.
	Tools  bool
	Tuning FusionTuning
}

// RunFusion asks every member of the panel at once and lets a judge make one
// answer of theirs. It waits for a quorum and then a little for the rest.
func RunFusion(ctx context.Context, r FusionRequest, call Caller) (Answer, error) {
	n := len(r.Panel)
	switch {
	case n == 0:
		return Answer{}, badPanel("The fusion combo has no members.")
	case n > r.Tuning.MaxPanel:
		return Answer{}, badPanel("The fusion combo has more members than maxPanel allows.")
	case n == 1:
		return call(ctx, Call{Target: r.Panel[0], Final: true})
	case r.Tools && r.Judge != nil:
		return call(ctx, Call{Target: r.Judge, Final: true})
	case r.Tools:
		return call(ctx, Call{Target: r.Panel[0], Final: true})
	}
	answers := askPanel(ctx, r, call)
	if err := ctx.Err(); err != nil {
		return Answer{}, Verdict(ctx, "fusion", err)
	}
	if len(answers) == 0 {
		return Answer{}, &Refusal{
			Status: 503, Code: "fusion_no_answers", Type: "service_unavailable", Terminal: "all_models_failed",
			Message: "No member of the fusion combo answered.",
		}
	}
	judge := r.Panel[answers[0].at]
	if r.Judge != nil {
		judge = r.Judge
	} else if len(answers) == 1 {
		return call(ctx, Call{Target: judge, Final: true})
	}
	sources := make([]string, len(answers))
	for i, a := range answers {
		sources[i] = a.text
	}
	return call(ctx, Call{Target: judge, Final: true, System: judgeTask, Sources: sources})
}

func badPanel(message string) *Refusal {
	return &Refusal{Status: 400, Code: "fusion_panel_invalid", Type: "invalid_request_error", Message: message}
}

// panelAnswer is the text of one member; text is empty when it failed.
type panelAnswer struct {
	at   int
	text string
}

// askPanel returns the answers that came in time, in the panel's order. Members
// that are still busy then are cancelled.
func askPanel(ctx context.Context, r FusionRequest, call Caller) []panelAnswer {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := len(r.Panel)
	results := make(chan panelAnswer, n) // nobody waits for a straggler, and none blocks
	for i := range r.Panel {
		go func() {
			a, err := call(ctx, Call{Target: r.Panel[i]})
			if err != nil || !a.OK() {
				a.Text = ""
			}
			results <- panelAnswer{i, strings.TrimSpace(a.Text)}
		}()
	}
	hard := time.NewTimer(time.Duration(r.Tuning.PanelHardTimeoutMs) * time.Millisecond)
	defer hard.Stop()
	quorum := clampInt(r.Tuning.MinPanel, 1, n)
	var grace <-chan time.Time
	var answers []panelAnswer
	for range n {
		select {
		case a := <-results:
			if a.text == "" {
				continue
			}
			answers = append(answers, a)
			if len(answers) == quorum {
				grace = time.After(time.Duration(r.Tuning.StragglerGraceMs) * time.Millisecond)
			}
			continue
		case <-grace:
		case <-hard.C:
		case <-ctx.Done():
		}
		break
	}
	slices.SortFunc(answers, func(a, b panelAnswer) int { return a.at - b.at })
	return answers
}
