// Package dialect knows what differs between the wire dialects that clients
// and providers speak.
package dialect

// Name names a wire dialect.
type Name string

// The dialects the proxy serves.
const (
	Anthropic Name = "anthropic" // Anthropic Messages, POST /v1/messages
	Chat      Name = "chat"      // OpenAI Chat Completions, POST /v1/chat/completions
	Responses Name = "responses" // OpenAI Responses, POST /v1/responses
)

// All lists the dialects in the order in which they are shown.
var All = []Name{Anthropic, Chat, Responses}

// Title returns the dialect's name for people.
func (n Name) Title() string {
	switch n {
	case Anthropic:
		return "Anthropic Messages"
	case Chat:
		return "OpenAI Chat Completions"
	case Responses:
		return "OpenAI Responses"
	}
	return string(n)
}
