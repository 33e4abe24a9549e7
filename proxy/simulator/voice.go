package simulator

import (
	"fmt"
	"net/http"

	"breakwater/proxy/dialect"
)

// voice is how the provider speaks one dialect.
type voice struct {
	*vendor
	frames func(reply) []frame // of a stream
	whole  func(reply) obj
	// failed writes an error event; seq numbers it, bare asks for the dialect's
	// other form of it.
	failed func(q *request, e Error, seq int, bare bool) frame
	// beats are the dialect's own signs of life.
	beats map[string]func(*score) frame
}

// vendor is what the dialects of one maker have in common.
type vendor struct {
	head      func(q *request, h http.Header)
	errorType func(words) string
	errorBody func(q *request, e Error) obj
	noCredit  func() Step
	model     func(id string) obj
	models    func(ids []string, query string) obj
}

var maker = struct{ anthropic, openAI vendor }{
	vendor{
		head: func(q *request, h http.Header) {
			h.Set("Request-Id", q.id("req_"))
			h.Set("Anthropic-Organization-Id", "00000000-0000-4000-8000-000000000000")
		},
		errorType: func(w words) string { return w.anthropic },
		errorBody: anthropicError,
		noCredit:  func() Step { return Status(http.StatusBadRequest).WithError(Error{Message: noCreditAn}) },
		model:     anthropicModel, models: anthropicModels,
	},
	vendor{
		head:      func(q *request, h http.Header) { h.Set("X-Request-Id", q.id("req_")) },
		errorType: func(w words) string { return w.openai },
		errorBody: func(_ *request, e Error) obj { return obj{"error", openAIError(e)} },
		noCredit: func() Step {
			return Status(http.StatusTooManyRequests).
				WithError(Error{Type: "insufficient_quota", Code: "insufficient_quota", Message: noCreditOA})
		},
		model: openAIModel, models: openAIModels,
	},
}

// voices has every dialect that the provider speaks.
var voices = map[dialect.Name]*voice{
	dialect.Anthropic.Traits().Name: {
		vendor: &maker.anthropic, frames: reply.anthropicStream, whole: reply.anthropicMessage,
		failed: func(q *request, e Error, _ int, _ bool) frame {
			return frame{role: closing, event: "error", data: text(anthropicError(q, e))}
		},
	},
	dialect.Chat.Traits().Name: {
		vendor: &maker.openAI, frames: reply.chatStream, whole: reply.chatCompletion,
		failed: func(_ *request, e Error, _ int, _ bool) frame {
			return frame{role: closing, data: text(obj{"error", openAIError(e)})}
		},
		beats: map[string]func(*score) frame{
			"empty_chunk": func(s *score) frame { return reply{q: s.q}.chatDelta(delta, obj{}, nil) },
		},
	},
	dialect.Responses.Traits().Name: {
		vendor: &maker.openAI, frames: reply.responsesStream, whole: reply.responsesWhole, failed: (*request).responseFailed,
		beats: map[string]func(*score) frame{"in_progress": responseInProgress},
	},
}

func anthropicError(q *request, e Error) obj {
	return obj{"type", "error", "error", obj{"type", e.Type, "message", e.Message}, "request_id", q.id("req_")}
}

// speaksAll reports a dialect that has no voice here.
func speaksAll() error {
	for _, d := range dialect.All {
		if name := d.Traits().Name; voices[name] == nil {
			return fmt.Errorf("simulator: it does not speak %s", name)
		}
	}
	return nil
}

// voice is how the provider speaks the request's dialect.
func (q *request) voice() *voice { return voices[q.dialect.Traits().Name] }

// errorBody is the body of an error status.
func (q *request) errorBody(e Error) obj { return q.voice().errorBody(q, e) }

// errorFrame is the error event of a stream; seq numbers it in the Responses
// dialect.
func (q *request) errorFrame(e Error, seq int, bare bool) frame {
	return q.voice().failed(q, e, seq, bare)
}
