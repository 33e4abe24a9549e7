package folder

import (
	"context"
	"errors"
	"os"
	"time"
)

const (
	// namedWait is how long a file that the user names may take: longer than a
	// disk that has to spin up.
	namedWait = 5 * time.Second
	// maxHanging bounds the reads that nobody waits for any more: each keeps a
	// thread until the file system answers.
	maxHanging = 8
)

// ErrSlow means that the place of a file does not answer, as a network drive
// without its server.
var ErrSlow = errors.New("the place of the file does not answer")

// namedReads counts the reads under way.
var namedReads = make(chan struct{}, maxHanging)

// ReadNamed reads a file that the user names, at most limit bytes of it. Links
// are followed; a pipe, a device or a folder is ErrNotPlain, a larger file
// ErrTooLarge. It never waits longer than five seconds (ErrSlow), whatever lies
// there. Callers hold no lock.
func ReadNamed(ctx context.Context, path string, limit int64) ([]byte, error) {
	return bounded(ctx, namedReads, func() ([]byte, error) { return readPlain(path, limit, os.Stat, 0) })
}

// bounded runs a call that knows no context and stops waiting for it in time;
// the call itself goes on until the file system answers.
func bounded(ctx context.Context, slots chan struct{}, read func() ([]byte, error)) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, namedWait, ErrSlow)
	defer cancel()
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	type result struct {
		content []byte
		err     error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-slots }()
		content, err := read()
		done <- result{content, err}
	}()
	select {
	case r := <-done:
		return r.content, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
