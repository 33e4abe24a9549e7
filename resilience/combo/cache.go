package combo

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// maxCacheKey is the longest prompt cache key that is taken as it stands.
const maxCacheKey = 4096

// CacheKey returns the key that requests with the same cached prefix share: the
// client's prompt_cache_key, else a hash of the stable prefix, else nothing.
func CacheKey(promptCacheKey string, stablePrefix []byte) string {
	if promptCacheKey != "" && len(promptCacheKey) <= maxCacheKey {
		return promptCacheKey
	}
	if len(stablePrefix) == 0 {
		return ""
	}
	sum := sha256.Sum256(stablePrefix)
	return hex.EncodeToString(sum[:])
}

// cacheOptimized sends equal keys to equal places and spreads different ones
// evenly: rendezvous hashing, so that a lost target moves only its own keys.
func cacheOptimized(in *Input) []*Target {
	if in.CacheKey == "" {
		return slices.Clone(in.Targets)
	}
	return byAffinity(in.CacheKey, in.Targets)
}

func byAffinity(key string, targets []*Target) []*Target {
	type hashed struct {
		sum      [sha256.Size]byte
		identity string
		at       int
	}
	list := make([]hashed, len(targets))
	buf := make([]byte, 0, len(key)+80)
	for i := range targets {
		id := targets[i].identity()
		buf = append(append(append(buf[:0], key...), 0), id...)
		list[i] = hashed{sha256.Sum256(buf), id, i}
	}
	slices.SortStableFunc(list, func(a, b hashed) int {
		return cmp.Or(bytes.Compare(b.sum[:], a.sum[:]), cmp.Compare(a.identity, b.identity))
	})
	out := make([]*Target, len(list))
	for i, h := range list {
		out[i] = targets[h.at]
	}
	return out
}

// identity is where a prompt cache lives: the account, if there is one.
func (s *Spec) identity() string {
	if s.Connection != "" {
		return "connection:" + s.Connection
	}
	return "execution:" + s.Key
}

// withAffinity moves the target that holds the prompt cache ahead, as far as
// the strategy's traits let it (sheet §1.6 step 13).
func withAffinity(e *Entry, key string, order []*Target) []*Target {
	if key == "" || len(order) < 2 || e.Name == CacheOptimized || e.Handler {
		return order
	}
	rest := order
	if e.KeepsFirst {
		rest = order[1:]
	}
	if !e.SameModel {
		return append(slices.Clone(order[:len(order)-len(rest)]), byAffinity(key, rest)...)
	}
	model := order[0].Model
	same := byAffinity(key, filter(rest, func(t *Target) bool { return t.Model == model }))
	out, next := slices.Clone(order), 0
	for i := len(order) - len(rest); i < len(out); i++ {
		if out[i].Model == model {
			out[i] = same[next]
			next++
		}
	}
	return out
}
