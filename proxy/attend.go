package proxy

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"breakwater/proxy/halfclose"
)

// lookEvery is how often a client that closed only its sending side is looked
// at: when it leaves for good, no further sign of it comes.
const lookEvery = 20 * time.Millisecond

type connKey struct{}

// withConn keeps the connection with the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// keptConnections is how many connections of clients may stay open between two
// requests. One at rest holds some 20 KB for keepAliveTimeout: after a burst of
// thousands that is most of the program's memory.
const keptConnections = 256

// count follows the number of open connections.
func (s *Server) count(_ net.Conn, now http.ConnState) {
	switch now {
	case http.StateNew:
		s.connections.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.connections.Add(-1)
	case http.StateActive, http.StateIdle:
	}
}

// attend gives each request a context that ends when the client leaves. The one
// of net/http also ends when a client closes only its sending side, which still
// waits for its answer. Where too many connections are open, this one closes
// behind the answer.
func (s *Server) attend(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.connections.Load() > keptConnections {
			w.Header().Set("Connection", "close")
		}
		defer s.garbage.rest()
		ctx, end := context.WithCancel(context.WithoutCancel(r.Context()))
		defer end()
		conn, _ := r.Context().Value(connKey{}).(net.Conn) // none where a test brings no server
		p := &presence{Context: ctx, end: end, base: r.Context(), conn: conn}
		defer context.AfterFunc(r.Context(), p.watch)()
		next.ServeHTTP(w, r.WithContext(p))
	})
}

// presence is the context of a request: it lives while the client reads.
type presence struct {
	context.Context //nolint:containedctx // it is one

	end  context.CancelFunc
	base context.Context //nolint:containedctx // net/http's, which ends too early
	conn net.Conn
	once sync.Once
}

// Err is up to date as soon as net/http has noticed something: who looks at it
// after a failed read or write sees whether that was the client's doing.
func (p *presence) Err() error {
	if err := p.Context.Err(); err != nil {
		return err
	}
	if p.base.Err() != nil {
		p.once.Do(p.look)
	}
	return p.Context.Err()
}

func (p *presence) look() {
	if !halfclose.Reads(p.conn) {
		p.end()
	}
}

// watch ends the context once the client has left.
func (p *presence) watch() {
	if p.Err() != nil {
		return
	}
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for p.Context.Err() == nil {
		select {
		case <-p.Done():
		case <-again.C:
			p.look()
		}
	}
}
