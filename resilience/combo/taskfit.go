package combo

import "strings"

// The task types of the auto engine.
const (
	TaskCoding    = "coding"
	TaskReview    = "review"
	TaskPlanning  = "planning"
	TaskAnalysis  = "analysis"
	TaskDebugging = "debugging"
	TaskDocs      = "docs"
	TaskDefault   = "default"
)

// fitOf is how well a capability tier suits a task.
var fitOf = map[string]map[string]float64{
	"premium":  {TaskCoding: .92, TaskReview: .93, TaskPlanning: .94, TaskAnalysis: .95, TaskDebugging: .90, TaskDocs: .88, TaskDefault: .85},
	"standard": {TaskCoding: .85, TaskReview: .84, TaskPlanning: .85, TaskAnalysis: .85, TaskDebugging: .82, TaskDocs: .85, TaskDefault: .78},
	"fast":     {TaskCoding: .78, TaskReview: .72, TaskPlanning: .70, TaskAnalysis: .72, TaskDebugging: .75, TaskDocs: .80, TaskDefault: .72},
	"budget":   {TaskCoding: .65, TaskReview: .60, TaskPlanning: .55, TaskAnalysis: .58, TaskDebugging: .60, TaskDocs: .70, TaskDefault: .55},
}

// ability is the capability tier of a model, empty when nothing is known of it.
func (f *Facts) ability() string {
	switch {
	case f.Reasoning:
		return "premium"
	case f.Tools == Yes && f.Context >= k128:
		return "standard"
	case f.Tools == Yes:
		return "fast"
	case f.Tools == No || f.Context > 0:
		return "budget"
	default:
		return ""
	}
}

// TaskFit says how well a model suits a task, 0 to 1. own holds the user's
// ratings by model, with "provider/" or without, also found for the model's
// free variant.
func TaskFit(own map[string]float64, model string, f *Facts, task string) float64 {
	if len(own) == 0 {
		return taskFit(model, f, task)
	}
	for _, key := range []string{model, bare(model), strings.TrimSuffix(bare(model), "-free")} {
		if v, ok := own[key]; ok {
			return unit(v)
		}
	}
	return taskFit(model, f, task)
}

func taskFit(model string, f *Facts, task string) float64 {
	if fit, ok := fitOf[f.ability()]; ok {
		if v, ok := fit[task]; ok {
			return v
		}
		return fit[TaskDefault]
	}
	fit, name := 0.5, strings.ToLower(bare(model))
	has := func(word string, plus float64) {
		if strings.Contains(name, word) {
			fit += plus
		}
	}
	switch task {
	case TaskCoding:
		has("coder", .15)
		has("code", .1)
		has("fast", .05)
	case TaskPlanning, TaskAnalysis:
		has("thinking", .1)
	}
	return min(1, fit)
}

// minIntent is the shortest text an intent is read from.
const minIntent = 10

var intents = []struct {
	task  string
	words []string
}{
	{TaskCoding, []string{"code", "function", "compile", "refactor", "implement", "unit test", "script", "regex", "```"}},
	{TaskAnalysis, []string{"reason", "prove", "derive", "step by step", "analyse", "analyze", "why does", "explain why"}},
}

// TaskOf guesses the task from the last user text.
func TaskOf(text string) string {
	if len(text) <= minIntent {
		return TaskDefault
	}
	text = strings.ToLower(text)
	for _, i := range intents {
		for _, w := range i.words {
			if strings.Contains(text, w) {
				return i.task
			}
		}
	}
	return TaskDefault
}
