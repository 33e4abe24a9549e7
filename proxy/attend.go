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

// attend gives each request a context that ends when the client leaves. The one
// of net/http also ends when a client closes only its sending side, which still
// waits for its answer.
func attend(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
