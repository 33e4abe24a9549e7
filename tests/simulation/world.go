// Package simulation runs days of traffic through the whole proxy, in the time
// of a synctest bubble, against accounts that fail in every way.
package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience/admission"
)

// supplier is a provider of the simulation.
type supplier struct {
	id, model string
	first     time.Duration
}

// The providers are four of the catalogue's, so that prices, windows and rules
// are the real ones.
var suppliers = []supplier{
	{"openai", "gpt-5-mini", 1200 * time.Millisecond},
	{"mistral", "mistral-large-latest", 900 * time.Millisecond},
	{"deepseek", "deepseek-chat", 2500 * time.Millisecond},
	{"groq", "llama-3.3-70b-versatile", 400 * time.Millisecond},
}

const perSupplier = 3

// world is the upstream side: the accounts, reached over pipes.
type world struct {
	accounts []*account
	byHost   map[string]*account
	conns    chan net.Conn
	server   *http.Server
	done     chan struct{}
}

// newWorld makes the twelve accounts. A calm one has neither limits nor faults.
func newWorld(seed uint64, start time.Time, day time.Duration, calm bool) *world {
	w := &world{byHost: map[string]*account{}, conns: make(chan net.Conn), done: make(chan struct{})}
	rng := dice(seed, 1)
	for si, s := range suppliers {
		var shared []outage
		for range 2 {
			shared = append(shared, someOutage(rng, day, 10*time.Minute, serverError, silence, unavailable))
		}
		for i := range perSupplier {
			a := &account{
				name: fmt.Sprintf("%s %d", s.id, i+1), provider: s.id, model: s.model, first: s.first,
				rng: dice(seed, uint64(100*si+i)), start: start, opened: start,
			}
			if !calm {
				a.burden(rng, si, i, day, shared)
			}
			w.accounts = append(w.accounts, a)
			w.byHost[w.host(len(w.accounts)-1)] = a
		}
	}
	w.server = &http.Server{Handler: w, ReadHeaderTimeout: time.Hour}
	return w
}

// burden gives an account its limits and faults: it stands two to four requests
// at once, one less of its model at the last provider, and every first account
// of a provider has a quota.
func (a *account) burden(rng *rand.Rand, si, i int, day time.Duration, shared []outage) {
	a.limit = 2 + (si+i)%3
	if si == len(suppliers)-1 {
		a.modelLimit = a.limit - 1
	}
	if i == 0 {
		a.quota, a.window = 300, 5*time.Hour
	}
	a.odds = odds{serverError: .01, reset: .002, silence: .001, rateLimited: .015, throttled: .01}
	a.outages = append(a.outages, shared...)
	for range 4 {
		a.outages = append(a.outages, someOutage(rng, day, 20*time.Minute, serverError, reset, silence, throttled, unavailable))
	}
}

func someOutage(rng *rand.Rand, day, longest time.Duration, kinds ...trouble) outage {
	from := time.Duration(rng.Int64N(int64(day)))
	return outage{from, from + time.Minute + time.Duration(rng.Int64N(int64(longest))), kinds[rng.IntN(len(kinds))]}
}

func (w *world) host(i int) string { return fmt.Sprintf("127.0.0.1:%d", 9001+i) }

// records are the connections to the accounts, with the limits that the user
// has set: those that the accounts have.
func (w *world) records() []control.ConnectionRecord {
	var out []control.ConnectionRecord
	for i, a := range w.accounts {
		r := control.ConnectionRecord{
			ID: fmt.Sprintf("c%02d", i+1), Provider: a.provider, Name: a.name, Credential: "apikey",
			BaseURL: "http://" + w.host(i) + "/v1", Models: []string{a.model}, Priority: i + 1, Active: true,
		}
		r.MaxConcurrent = a.limit
		if a.modelLimit > 0 {
			r.RateLimitOverrides = admission.Overrides{ModelConcurrency: map[string]int{a.model: a.modelLimit}}
		}
		out = append(out, r)
	}
	return out
}

// Accept, Close and Addr make the world a listener of its own server.
func (w *world) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}

func (w *world) Close() error {
	select {
	case <-w.done:
	default:
		close(w.done)
	}
	return nil
}

func (w *world) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// dial connects the proxy to an account.
func (w *world) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case w.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ServeHTTP answers as the account whose address was called.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var in struct {
		Stream   bool
		Messages []struct{ Content any }
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	a := w.byHost[r.Host]
	arrived := time.Now()
	if !wait(r.Context(), settle) {
		return
	}
	c := a.begin(arrived)
	defer a.end()
	if c.what == silence {
		<-r.Context().Done()
		return
	}
	if !wait(r.Context(), c.first) {
		return
	}
	switch c.what {
	case reset:
		panic(http.ErrAbortHandler)
	case none:
		a.answer(rw, r, in.Stream, c.rest)
	case serverError:
		a.refuse(rw, 500, c.what, "The server had an error while processing your request.")
	case unavailable:
		a.refuse(rw, 503, c.what, "The service is temporarily unavailable.")
	case usedUp:
		a.refuse(rw, 429, c.what, "Usage limit reached for this window.")
	case over:
		a.refuse(rw, 429, c.what, "Too many concurrent requests.")
	case rateLimited, disturbed, throttled, silence:
		a.refuse(rw, 429, c.what, "Rate limit reached, try again later.")
	}
}

// settle is how long an account lets everything come to rest before it judges a
// request: what ends at the moment at which another begins is not over the limit.
const settle = time.Millisecond

func wait(ctx context.Context, d time.Duration) bool { return admission.Sleep(ctx, d) == nil }

func (a *account) refuse(rw http.ResponseWriter, status int, what trouble, message string) {
	rw.Header().Set("Content-Type", "application/json")
	if after := a.after(time.Now(), what); after > 0 {
		rw.Header().Set("Retry-After", strconv.FormatInt(int64(after/time.Second), 10))
	}
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(map[string]any{"error": map[string]any{"message": message, "type": "error"}}) // the proxy may have left
}

const (
	answerHead = `{"id":"chatcmpl-1","created":1,"model":"m","object":`
	usageField = `,"usage":{"prompt_tokens":20,"completion_tokens":12,"total_tokens":32}`
)

// answer sends a whole answer in the Chat dialect.
func (a *account) answer(rw http.ResponseWriter, r *http.Request, stream bool, rest time.Duration) {
	const text = `The answer, in a few words: all is well.`
	if !stream {
		if !wait(r.Context(), rest) {
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(rw, `%s"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]%s}`, answerHead, text, usageField) // the proxy may have left
		return
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta, finish, more string) {
		_, _ = fmt.Fprintf(rw, "data: %s\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]%s}\n\n", answerHead, delta, finish, more) // the same
		rw.(http.Flusher).Flush()
	}
	chunk(`{"role":"assistant","content":""}`, "null", "")
	for _, part := range strings.SplitAfter(text, ",") {
		chunk(fmt.Sprintf(`{"content":%q}`, part), "null", "")
		if !wait(r.Context(), rest/2) {
			return
		}
	}
	chunk(`{}`, `"stop"`, usageField)
	_, _ = fmt.Fprint(rw, "data: [DONE]\n\n") // the same
}
