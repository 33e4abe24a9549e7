package quota

import "strings"

// BackgroundDegrade names the warning for a Responses request that asked to run
// in the background (guide, "Otras funciones de resiliencia").
const BackgroundDegrade = "BACKGROUND_DEGRADE"

// Degrade says what becomes of the field "background" of a Responses request.
type Degrade struct {
	Strip bool // the field is taken out of the request
	// Warn tells that BackgroundDegrade is logged with provider and model: the
	// client asked for the background and is answered while it waits. The answer
	// then carries background false.
	Warn bool
}

// DegradeBackground decides by the field's value as it stands in the JSON;
// empty means that it is absent.
func DegradeBackground(value string) Degrade {
	value = strings.TrimSpace(value)
	return Degrade{Strip: value != "", Warn: value == "true"}
}

// Task is what tells a client's background task from a conversation.
type Task struct {
	Header    map[string][]string
	MaxTokens int64  // 0: not set
	System    string // the system prompt
	UserTurns int    // messages of the user
}

// The bounds of what may be a background task (sheet §7).
const (
	maxTaskTokens = 49
	maxTaskTurns  = 3
)

// taskHeaders are the headers by which clients say it.
var taskHeaders = []string{"x-task-type", "x-request-priority", "x-initiator"}

// taskPhrases are found in the system prompts of titles and summaries.
var taskPhrases = []string{
	"generate a title", "generate a short title", "generate a concise title", "create a title", "write a title", "conversation title", "chat title",
	"title for this conversation", "title for the conversation", "summarize this conversation", "summarize the conversation", "summarise this conversation",
	"summarise the conversation", "conversation summary", "summary of the conversation", "summary of this conversation",
}

// Background reports whether the request is a background task, which a cheaper
// model may serve, and what gave it away. It only advises: the downgrade is off
// by default.
func (t *Task) Background() (why string, ok bool) {
	for _, name := range taskHeaders {
		if strings.EqualFold(get(t.Header, name), "background") {
			return name, true
		}
	}
	if t.MaxTokens > 0 && t.MaxTokens <= maxTaskTokens {
		return "max_tokens", true
	}
	if t.UserTurns <= maxTaskTurns {
		system := strings.ToLower(t.System)
		for _, phrase := range taskPhrases {
			if strings.Contains(system, phrase) {
				return "system", true
			}
		}
	}
	return "", false
}
