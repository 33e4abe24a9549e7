package rest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// answerFor is how old an answer may be that is served again while traffic
	// moves the figures in it. A change of state or a write ends it at once.
	answerFor = 100 * time.Millisecond
	// answersFor is how long answers that nobody asks for any more are kept.
	answersFor = time.Second
	// maxAnswers and maxAnswer bound what is kept: entries, and bytes of one.
	maxAnswers, maxAnswer = 64, 1 << 20
	// maxKey is the longest address in bytes whose answer is kept.
	maxKey = 512
	// turnWait is how long a reader waits for the one who encodes; a slow disk
	// holds up nobody else.
	turnWait = 250 * time.Millisecond
)

// encoded is an answer, ready for everybody who may read it.
type encoded struct {
	status int
	media  string
	tag    string
	data   []byte
}

// answers encodes each answer once for all who ask for it meanwhile, and one
// answer at a time: readers wait for each other, requests wait for nobody.
type answers struct {
	// version counts the changes of state; nil keeps nothing.
	version func() uint64
	now     func() time.Time
	turn    chan struct{} // held by whoever encodes

	mu     sync.Mutex
	writes uint64 // through this API
	kept   map[string]*kept
	sweep  *time.Timer // runs while anything is kept
}

// kept is an answer, or the promise of one.
type kept struct {
	done chan struct{} // closed when the others are set
	encoded
	err error

	// Since when and in which state it holds; while it waits for its turn it
	// is newer than everything.
	began           bool
	at              time.Time
	version, writes uint64
}

func newAnswers(version func() uint64, now func() time.Time) *answers {
	return &answers{version: version, now: now, turn: make(chan struct{}, 1), kept: map[string]*kept{}}
}

// wrote ends every answer that was given before.
func (s *answers) wrote() {
	s.mu.Lock()
	s.writes++
	s.mu.Unlock()
}

// get returns the answer for a key. Make gets a context that outlives the
// caller's: what it makes is for others too.
func (s *answers) get(ctx context.Context, key string, encode func(context.Context) (encoded, error)) (encoded, error) {
	k, mine := s.find(key)
	if mine {
		s.fill(context.WithoutCancel(ctx), k, encode)
	}
	select {
	case <-k.done:
		return k.encoded, k.err
	case <-ctx.Done():
		return encoded{}, ctx.Err()
	}
}

// find returns what holds for a key, or a new promise that the caller keeps.
func (s *answers) find(key string) (k *kept, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k = s.kept[key]; k != nil && s.holds(k) {
		return k, false
	}
	k = &kept{done: make(chan struct{})}
	if s.version == nil || len(key) > maxKey {
		return k, true
	}
	if len(s.kept) >= maxAnswers {
		clear(s.kept)
	}
	s.kept[key] = k
	if s.sweep == nil {
		s.sweep = time.AfterFunc(answersFor, s.forget)
	}
	return k, true
}

// holds reports whether an answer may be served once more.
func (s *answers) holds(k *kept) bool {
	if !k.began {
		return true
	}
	age := s.now().Sub(k.at)
	return k.writes == s.writes && age >= 0 && age < answerFor && k.version == s.version()
}

// fill waits for its turn and encodes.
func (s *answers) fill(ctx context.Context, k *kept, encode func(context.Context) (encoded, error)) {
	defer close(k.done)
	patience := time.NewTimer(turnWait)
	defer patience.Stop()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-patience.C:
	}
	s.mu.Lock()
	k.began, k.at, k.writes = true, s.now(), s.writes
	if s.version != nil {
		k.version = s.version()
	}
	s.mu.Unlock()
	k.err = errInternal // should encode panic
	k.encoded, k.err = encode(ctx)
	if k.err != nil || len(k.data) > maxAnswer {
		s.mu.Lock()
		k.at = time.Time{} // for those who wait already, and nobody else
		s.mu.Unlock()
	}
}

// forget drops what is not served again; the timer stops with the last one.
func (s *answers) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, k := range s.kept {
		if !s.holds(k) {
			delete(s.kept, key)
		}
	}
	if len(s.kept) == 0 {
		s.sweep = nil
	} else {
		s.sweep.Reset(answersFor)
	}
}

// tagOf is the entity tag of bytes.
func tagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// unchanged reports whether the caller has an answer with this tag already.
func unchanged(r *http.Request, tag string) bool {
	for want := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		want = strings.TrimPrefix(strings.TrimSpace(want), "W/")
		if want != "" && (want == tag || want == "*") {
			return true
		}
	}
	return false
}
