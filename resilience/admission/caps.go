package admission

import (
	"context"
	"time"

	"breakwater/resilience/settings"
)

// AccountDepth is how many may wait for an account or a model (ruling 5).
const AccountDepth = 20

// builtinConcurrency are the providers with a limit of their own (sheet §4.1).
var builtinConcurrency = map[string]int{"nvidia": 6}

// Caps are the limits of the composite gate for one connection; not positive
// means none.
type Caps struct {
	Global, Provider, Account int
	// Models holds the limits of single models by their exact name at the
	// upstream (guide §4, modelConcurrency).
	Models map[string]int
	// Depth is how many may wait for the account, and for a model of it; 0 is
	// unlimited (ruling 5).
	Depth int
}

// CapsFor returns the limits in force. maxConcurrent is the connection's
// max_concurrent, 0 for none.
func CapsFor(s *settings.Settings, provider string, maxConcurrent int, o Overrides) Caps {
	c := Caps{
		Global:   int(s.RequestQueue.GlobalConcurrentRequests),
		Provider: builtinConcurrency[provider],
		Account:  stricter(maxConcurrent, int(value(o.MaxConcurrent))),
		Models:   o.ModelConcurrency,
		Depth:    AccountDepth,
	}
	q := s.ProviderQuotaOverrides[provider]
	if q.Concurrency != nil {
		c.Provider = int(*q.Concurrency)
	}
	c.Provider = stricter(c.Provider, int(value(q.ProviderConcurrency)))
	return c
}

// Composite takes the composite gate global → provider → account → model of a
// request (guide §4). model is its name at the upstream.
func (g *Gates) Composite(ctx context.Context, c Caps, provider, connection, model string) (*Permit, error) {
	depth := c.Depth
	if depth <= 0 {
		depth = Unbounded
	}
	return g.Acquire(ctx, DefaultWait,
		Need{Key{Level: Global}, c.Global, Unbounded},
		Need{Key{Level: Provider, Provider: provider}, c.Provider, Unbounded},
		Need{AccountKey(provider, connection), c.Account, depth},
		Need{Key{Model, provider, connection, model}, c.Models[model], depth},
	)
}

// AccountKey names a connection's own gate.
func AccountKey(provider, connection string) Key {
	return Key{Level: Account, Provider: provider, Account: connection}
}

// QuotaShare holds back the requests of a quota-share combo to one account
// (guide §4, qsconn). It fails open: without a place in time, with a full
// queue, without a limit and with the switch off the request goes on, with a
// permit that holds nothing. The permit is never nil.
func (g *Gates) QuotaShare(ctx context.Context, enabled bool, connection string, maxConcurrent int, wait time.Duration, depth int) *Permit {
	if enabled && connection != "" && maxConcurrent > 0 {
		p, err := g.Acquire(ctx, wait, Need{Key{Level: Share, Account: connection}, maxConcurrent, depth})
		if err == nil {
			return p
		}
	}
	return &Permit{owner: g}
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
