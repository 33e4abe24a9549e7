package affinity

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// occupied is how long a session holds its place after its last request.
const occupied = 5 * time.Minute

// maxSessions bounds how many sessions are remembered.
const maxSessions = 2000

// Occupancy spreads sessions over the OAuth accounts of a provider (ruling 53):
// a soft preference of this process, which refuses nobody. It is safe for
// concurrent use.
type Occupancy struct {
	mu       sync.Mutex
	sessions map[string]seat
}

type seat struct {
	connection string
	at         time.Time
}

// NewOccupancy returns an occupancy without sessions.
func NewOccupancy() *Occupancy { return &Occupancy{sessions: map[string]seat{}} }

// Seat notes that a session is served by a connection.
func (o *Occupancy) Seat(now time.Time, session, connection string) {
	if session == "" || connection == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sessions[session] = seat{connection, now}
	if len(o.sessions) > maxSessions {
		o.sweep(now)
	}
}

// Leave notes that a session is gone from a connection.
func (o *Occupancy) Leave(session, connection string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sessions[session].connection == connection {
		delete(o.sessions, session)
	}
}

// Spread orders connections for a session: the one it sits on, then those with
// the fewest other sessions; equal ones keep their order.
func (o *Occupancy) Spread(now time.Time, session string, connections []string) []string {
	out := slices.Clone(connections)
	if len(out) < 2 {
		return out
	}
	o.mu.Lock()
	own := ""
	load := make(map[string]int, len(out))
	for name, s := range o.sessions {
		switch {
		case now.Sub(s.at) > occupied:
		case name == session && session != "":
			own = s.connection
		default:
			load[s.connection]++
		}
	}
	o.mu.Unlock()
	slices.SortStableFunc(out, func(a, b string) int {
		if own != "" && (a == own) != (b == own) {
			if a == own {
				return -1
			}
			return 1
		}
		return cmp.Compare(load[a], load[b])
	})
	return out
}

// Sessions returns how many sessions sit on a connection.
func (o *Occupancy) Sessions(now time.Time, connection string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, s := range o.sessions {
		if s.connection == connection && now.Sub(s.at) <= occupied {
			n++
		}
	}
	return n
}

// Sweep forgets the sessions that have left.
func (o *Occupancy) Sweep(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sweep(now)
}

func (o *Occupancy) sweep(now time.Time) {
	for name, s := range o.sessions {
		if now.Sub(s.at) > occupied {
			delete(o.sessions, name)
		}
	}
	for name := range o.sessions { // a crowd: anyone may lose the place
		if len(o.sessions) <= maxSessions*15/16 {
			break
		}
		delete(o.sessions, name)
	}
}
