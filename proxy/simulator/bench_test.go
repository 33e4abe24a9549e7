package simulator

import (
	"context"
	"io"
	"net/http"
	"testing"
)

// What a request costs the simulator and its client together, on sockets.
func BenchmarkAnswers(b *testing.B) {
	s := New(Options{KeepBody: -1})
	if err := s.Start(context.Background(), ""); err != nil {
		b.Fatal(err)
	}
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	c := &http.Client{Transport: tr}
	defer func() {
		tr.CloseIdleConnections()
		_ = s.Close()
	}()
	acc := s.Account("alpha")
	for _, d := range spoken {
		for name, stream := range map[string]bool{"json": false, "stream": true} {
			b.Run(string(d.Traits().Name)+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					resp, err := c.Do(ask{dialect: d, stream: stream}.request(b.Context(), acc.BaseURL()))
					if err != nil {
						b.Fatal(err)
					}
					if _, err := io.Copy(io.Discard, resp.Body); err != nil {
						b.Fatal(err)
					}
					_ = resp.Body.Close()
				}
			})
		}
	}
}
