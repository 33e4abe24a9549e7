package attempt

import (
	"context"
	"net/http"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/upstream"
	"breakwater/resilience"
	"breakwater/resilience/classify"
	"breakwater/resilience/claude"
	"breakwater/resilience/quota"
	"breakwater/resilience/settings"
)

// Request is a client's request as every target gets it. It is read only:
// attempts of one request may run side by side.
type Request struct {
	Method string
	// Header and Query are the client's own.
	Header http.Header
	Query  string
	// Dialect is the API that the client speaks, Path the route below a base URL.
	Dialect dialect.Dialect
	Path    string
	// Probe marks requests whose failure says nothing about a connection
	// (ruling 38): count_tokens.
	Probe bool
	Body  dialect.Body
	// Profile is what the client is known to honour (ruling 40).
	Profile dialect.Profile
	// Hold is the lease that the request runs under, nil for most.
	Hold *control.Hold
	// Via counts the Breakwaters of this machine that the request has passed.
	Via int
}

// Target is a connection, the model's name there, and what the request's plan
// says about asking it.
type Target struct {
	Route *control.Route
	Model string
	// Header is added to the answer's headers.
	Header http.Header
	// System is put before the request's own system prompt: the summary that
	// context-relay hands over.
	System string
	// More tells that other targets follow: an answer without content is then
	// refused and not relayed.
	More bool
	// Checks are the tests that a whole JSON answer has to pass, Valid the combo's
	// own of them; nil accepts every answer.
	Checks resilience.AnswerChecks
	Valid  func(doc []byte) bool
	// Start bounds the time until the headers of a call's answer, Within that until
	// the answer begins, over all calls; zero sets no bound.
	Start, Within time.Duration
	// Begins is called once, when the client is about to see the answer; nil
	// does nothing.
	Begins func()
	// History knows who made the reasoning in the conversation; nil sends it as it
	// is.
	History History
	// Recall returns the history where it is needed after all: the target refuses
	// the reasoning of a conversation that had one owner; nil: never.
	Recall func() History
	// Broken returns the event that ends a stream which broke after output, nil
	// where the stream is cut instead (ruling 44).
	Broken func() []byte
}

// Client is where an answer goes. One that returns false is gone.
type Client interface {
	// Head sends status and headers once; later calls do nothing.
	Head(status int, fill func(http.Header))
	// Write sends bytes at once.
	Write(p []byte) bool
	// Last sends the bytes that the end of the answer follows.
	Last(p []byte) bool
	// Flush sends what Last kept back because something follows after all.
	Flush()
	// Begun reports whether status and headers were sent.
	Begun() bool
	// Gone reports whether the client has left.
	Gone() bool
}

// Observer follows an attempt while it runs. Its methods are called by the
// attempt's own goroutine.
type Observer interface {
	// Step adds a line to the decision trace.
	Step(s control.Step)
	// Answered sees the head of every answer.
	Answered(status int, header http.Header)
}

// Services is what an attempt needs of the product.
type Services interface {
	// InForce returns the settings in force; they must not be changed.
	InForce() *settings.Settings
	// Judge returns what the classifier must know of a connection and model.
	Judge(r *control.Route, model string) classify.Input
	// Fence checks a lease just before dispatch.
	Fence(ctx context.Context, h *control.Hold, r *control.Route, model string) error
	// Bearer returns the access token of a stored login, refreshed when due.
	Bearer(ctx context.Context, r *control.Route) (string, error)
	// Renew replaces an access token that the upstream has refused.
	Renew(ctx context.Context, r *control.Route, key string) (string, error)
	// Subscription follows a request on a Claude subscription; nil on any other
	// connection.
	Subscription(r *control.Route, q control.ClaudeAsk) Subscription
	// ToolLimits returns what is known of the providers' limits on tools.
	ToolLimits() *quota.ToolLimits
	// Now is the core's time.
	Now() time.Time
}

// Subscription is Claude's low-priority lane and limit reset for one request:
// they see each answer before it is judged (guide, "Claude").
type Subscription interface {
	// Header names a header that is set after all others, if send is true.
	Header() (name, value string, send bool)
	// Answer says what an answer means for lane and reset.
	Answer(status int, header map[string][]string) claude.Decision
	// AskReset drives the limit reset and returns what to do then.
	AskReset(ctx context.Context) claude.Decision
	// ResetOutcome is how the last attempt at the reset ended, and when the next
	// one may be made.
	ResetOutcome() (result string, next *time.Time)
	// LaneUntil is when the present lane ends by itself, nil without one.
	LaneUntil() *time.Time
	// Wait returns after d, when ctx ends, or when the user changes a switch.
	Wait(ctx context.Context, d time.Duration)
	// Stands reports whether the connection may still be asked after a wait.
	Stands() bool
	// SetBearer takes over a refreshed access token.
	SetBearer(bearer string)
}

// Upstream sends calls to providers.
type Upstream interface {
	Do(ctx context.Context, call upstream.Call) (*http.Response, error)
	// Ahead and SleptSince show whether this machine slept during a call.
	Ahead() time.Duration
	SleptSince(ahead time.Duration) bool
}
