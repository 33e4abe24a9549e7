package combo

import (
	"slices"
	"strings"
)

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

// ability is the capability tier of a model.
type ability uint8

const (
	unrated ability = iota // nothing is known of the model
	budget
	fast
	standard
	premium
)

// tasks are the columns of fitOf; any other task is the last one.
var tasks = [...]string{TaskCoding, TaskReview, TaskPlanning, TaskAnalysis, TaskDebugging, TaskDocs, TaskDefault}

// fitOf is how well a capability tier suits a task.
var fitOf = [...][len(tasks)]float64{
	premium:  {.92, .93, .94, .95, .90, .88, .85},
	standard: {.85, .84, .85, .85, .82, .85, .78},
	fast:     {.78, .72, .70, .72, .75, .80, .72},
	budget:   {.65, .60, .55, .58, .60, .70, .55},
}

func (a ability) fit(task string) float64 {
	i := slices.Index(tasks[:], task)
	if i < 0 {
		i = len(tasks) - 1
	}
	return fitOf[a][i]
}

func (f *Facts) ability() ability {
	switch {
	case f.Reasoning:
		return premium
	case f.Tools == Yes && f.Context >= k128:
		return standard
	case f.Tools == Yes:
		return fast
	case f.Tools == No || f.Context > 0:
		return budget
	default:
		return unrated
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
	if a := f.ability(); a != unrated {
		return a.fit(task)
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
