package proxy

import (
	"testing"
	"time"

	"breakwater/proxy/upstream"
	"breakwater/resilience/settings"
)

// The guide's environment reaches the connections to providers (ruling 67).
func TestConnectionTimesOfTheEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		env           map[string]string
		given         upstream.Options
		connect, idle time.Duration
	}{
		"ruling 67 unset":     {nil, upstream.Options{}, 30 * time.Second, time.Minute},
		"keep-alive":          {map[string]string{"FETCH_KEEPALIVE_TIMEOUT_MS": "4000"}, upstream.Options{}, 30 * time.Second, 4 * time.Second},
		"no keep-alive of 0":  {map[string]string{"FETCH_KEEPALIVE_TIMEOUT_MS": "0"}, upstream.Options{}, 30 * time.Second, time.Minute},
		"connect":             {map[string]string{"FETCH_CONNECT_TIMEOUT_MS": "1500"}, upstream.Options{}, 1500 * time.Millisecond, time.Minute},
		"connect without end": {map[string]string{"FETCH_CONNECT_TIMEOUT_MS": "0"}, upstream.Options{}, -1, time.Minute},
		"not of the requests": {map[string]string{"REQUEST_TIMEOUT_MS": "7", "FETCH_TIMEOUT_MS": "8"}, upstream.Options{}, 30 * time.Second, time.Minute},
		"nonsense":            {map[string]string{"FETCH_CONNECT_TIMEOUT_MS": "soon", "FETCH_KEEPALIVE_TIMEOUT_MS": "-1"}, upstream.Options{}, 30 * time.Second, time.Minute},
		"the caller's own":    {nil, upstream.Options{ConnectTimeout: 1, IdleTimeout: 2}, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			set := settings.Seeded(func(key string) string { return c.env[key] })
			if o := connections(c.given, set.Timeouts); o.ConnectTimeout != c.connect || o.IdleTimeout != c.idle {
				t.Errorf("connect %s, idle %s", o.ConnectTimeout, o.IdleTimeout)
			}
		})
	}
}
