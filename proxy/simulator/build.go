package simulator

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Auto calls a tool when there is one to call, else answers with text.
func Auto() Step { return Step{Kind: KindAuto} }

// Asked calls a tool only if the user's last words ask for one.
func Asked() Step { return Step{Kind: KindAsked} }

// OK answers with text; none is a sentence that names the account.
func OK(text ...string) Step { return Step{Kind: KindText, Text: strings.Join(text, "")} }

// CallTool answers with a tool call; see Tool for empty values.
func CallTool(name, arguments string) Step {
	return Step{Kind: KindTool, Tool: &Tool{Name: name, Arguments: arguments}}
}

// Blank is a well-formed answer without content that ends for stopReason.
func Blank(stopReason string) Step { return Step{Kind: KindBlank, StopReason: stopReason} }

// Status answers with an HTTP error status and the dialect's error body.
func Status(code int) Step { return Step{Kind: KindStatus, Status: code} }

// Raw answers with exactly these bytes, each piece in one write. Places count
// pieces as deltas.
func Raw(contentType string, pieces ...string) Step {
	s := Step{Kind: KindRaw, ContentType: contentType}
	for _, p := range pieces {
		s.Pieces = append(s.Pieces, Piece(p))
	}
	return s
}

// Empty answers 200 without a body.
func Empty() Step { return Step{Kind: KindEmpty} }

// HTML answers 200 with a web page.
func HTML() Step { return Step{Kind: KindHTML} }

// Reset resets the TCP connection before any header.
func Reset() Step { return OK().ResetAfter(BeforeHeaders) }

// Repeat uses the step n times.
func (s Step) Repeat(n int) Step { s.Times = n; return s }

// Always uses the step for ever.
func (s Step) Always() Step { return s.Repeat(Forever) }

// For limits the step to some requests.
func (s Step) For(w When) Step { s.When = &w; return s }

// WithHeader sets a response header; an empty value removes one.
func (s Step) WithHeader(name, value string) Step {
	s.Header = s.Header.Clone()
	if s.Header == nil {
		s.Header = http.Header{}
	}
	s.Header.Set(name, value)
	return s
}

// WithBody sends body in place of the dialect's error body.
func (s Step) WithBody(contentType, body string) Step {
	s.ContentType, s.Body = contentType, body
	return s
}

// WithError sets the words of the error body or error event; empty ones keep
// those of the status.
func (s Step) WithError(e Error) Step { s.Error = &e; return s }

// WithRetryAfter sends Retry-After in seconds, rounded up.
func (s Step) WithRetryAfter(d time.Duration) Step {
	s.RetryAfter = &RetryAfter{Seconds: int(math.Ceil(d.Seconds()))}
	return s
}

// WithRetryAfterDate sends Retry-After as an HTTP date d from now.
func (s Step) WithRetryAfterDate(d time.Duration) Step {
	s.RetryAfter = &RetryAfter{Date: Duration(d)}
	return s
}

// WithRetryAfterMs sends Retry-After-Ms alone.
func (s Step) WithRetryAfterMs(ms int) Step { s.RetryAfter = &RetryAfter{Ms: ms}; return s }

// WithUnified sends the anthropic-ratelimit-unified headers.
func (s Step) WithUnified(u UnifiedLimit) Step { s.Unified = &u; return s }

// WithUsage sets the token figures.
func (s Step) WithUsage(u Usage) Step { s.Usage = &u; return s }

// WithStop sets the stop reason, in the dialect's own word.
func (s Step) WithStop(reason string) Step { s.StopReason = reason; return s }

// Think sends reasoning before the answer, one delta each.
func (s Step) Think(deltas ...string) Step { s.Thinking = slices.Clone(deltas); return s }

// Split sets how many bytes of text a delta holds; negative is all in one.
// Letters are never split.
func (s Step) Split(n int) Step { s.SplitBytes = n; return s }

// Delayed waits before the headers.
func (s Step) Delayed(d time.Duration) Step { s.Delay = Duration(d); return s }

// Paced waits before each delta, or before each chunk.
func (s Step) Paced(d time.Duration) Step { s.Pace = Duration(d); return s }

// StallAfter is silent for d at a place; Forever lasts until the client
// leaves.
func (s Step) StallAfter(after int, d time.Duration) Step {
	s.Stalls = append(slices.Clip(s.Stalls), Stall{After: after, For: Duration(d)})
	return s
}

// HoldAfter is silent at a place until the channel is closed.
func (s Step) HoldAfter(after int, until <-chan struct{}) Step {
	s.holds = append(slices.Clip(s.holds), hold{after: after, until: until})
	return s
}

// KeepAliveAt sends count signs of life of a form at a place, each after a
// pause.
func (s Step) KeepAliveAt(after int, form string, every time.Duration, count int) Step {
	s.KeepAlive = append(slices.Clip(s.KeepAlive), KeepAlive{Form: form, After: after, Every: Duration(every), Count: count})
	return s
}

// ResetAfter resets the TCP connection at a place.
func (s Step) ResetAfter(after int) Step { return s.breakAt(BreakReset, after) }

// CutAfter closes the connection at a place, the body being incomplete.
func (s Step) CutAfter(after int) Step { return s.breakAt(BreakCut, after) }

// EndAfter ends the body cleanly at a place, without the closing events.
func (s Step) EndAfter(after int) Step { return s.breakAt(BreakEnd, after) }

// ErrorAfter sends an error event at a place and ends the body.
func (s Step) ErrorAfter(after int, e Error) Step { return s.breakAt(BreakError, after).WithError(e) }

// BareErrorAfter is ErrorAfter with the Responses dialect's "error" event in
// place of "response.failed".
func (s Step) BareErrorAfter(after int, e Error) Step {
	s = s.ErrorAfter(after, e)
	s.Break.Bare = true
	return s
}

func (s Step) breakAt(kind string, after int) Step {
	s.Break = &Break{Kind: kind, After: after}
	return s
}

// InChunks writes the body in pieces of these sizes, in turn and again.
func (s Step) InChunks(sizes ...int) Step { s.Chunks = slices.Clone(sizes); return s }

// CRLF ends the lines of event streams with CR LF.
func (s Step) CRLF() Step { s.Newline = "\r\n"; return s }

// Encoded compresses the body.
func (s Step) Encoded(e Encoding) Step { s.Encoding = e; return s }
