package proxy

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// headLimit is how long the headers of a request may take to arrive.
	headLimit = 30 * time.Second
	// uploadLimit is how long a request body may bring less than uploadStep.
	uploadLimit = 30 * time.Second
	uploadStep  = 4 << 10
)

var errSlowBody = errors.New("the request body does not come on")

// pace reads a request body and gives up one that does not come on: as long as
// enough of it arrives in every span, it may take any time. It costs a timer,
// and a deadline of the connection only where it is needed.
type pace struct {
	io.ReadCloser
	ctl  *http.ResponseController
	span time.Duration
	got  atomic.Int64

	mu    sync.Mutex
	timer *time.Timer
	seen  int64
	late  bool
	done  bool
}

func newPace(ctl *http.ResponseController, body io.ReadCloser, span time.Duration) *pace {
	p := &pace{ReadCloser: body, ctl: ctl, span: span}
	if span > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.timer = time.AfterFunc(span, p.look)
	}
	return p
}

// Read notes that something came.
func (p *pace) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	p.got.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) && p.isLate() {
		err = errSlowBody
	}
	return n, err
}

func (p *pace) isLate() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.late
}

// look ends the reading if too little came since the last look.
func (p *pace) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := p.got.Load()
	switch {
	case p.done:
	case got-p.seen < uploadStep:
		p.late = true
		_ = p.ctl.SetReadDeadline(time.Now()) // unsupported only without a socket
	default:
		p.seen = got
		p.timer.Reset(p.span)
	}
}

// stop ends the watch. A body that was read whole leaves no deadline behind: the
// connection is used again.
func (p *pace) stop(whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
	if p.timer != nil {
		p.timer.Stop()
	}
	if whole && p.late {
		_ = p.ctl.SetReadDeadline(time.Time{})
	}
}
