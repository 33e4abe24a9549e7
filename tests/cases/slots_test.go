package cases

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// Case P18: walking over connections whose keys are dead uses up no retries;
// the first one that works answers.
func TestWalkingOverDeadKeys(t *testing.T) {
	t.Run("case P18", func(t *testing.T) {
		k := scenario.Start(t)
		for i := range 6 {
			name := fmt.Sprintf("c%d", i+1)
			k.Add(name, "demo")
			if i < 4 {
				k.Sim.Account(name).Script(simulator.Status(401).WithError(simulator.Error{Type: "authentication_error", Message: "invalid x-api-key"}).Always())
			}
		}
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 || !strings.Contains(a.Body, "c5.") {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
		for i, want := range []int{1, 1, 1, 1, 1, 0} {
			if n := len(k.Sim.Account(fmt.Sprintf("c%d", i+1)).Requests()); n != want {
				t.Errorf("c%d was tried %d times", i+1, n)
			}
		}
	})
}

// limitQueue lets this many requests run on each connection.
func limitQueue(t *testing.T, k *scenario.Kit, n int) {
	t.Helper()
	if _, err := k.Facade().EditResilience(t.Context(), fmt.Appendf(nil, `{"requestQueue":{"concurrentRequests":%d}}`, n)); err != nil {
		t.Fatal(err)
	}
}

// post sends a request that its client gives up with ctx.
func post(ctx context.Context, t *testing.T, c *http.Client, k *scenario.Kit) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, k.URL+"/v1/messages", strings.NewReader(scenario.Messages))
	if err != nil {
		t.Error(err)
		return
	}
	res, err := c.Do(r)
	if err != nil {
		return // the client has left
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
}

// Case P60: permits of clients that leave, some of them while they wait, all
// come back.
func TestCancelledRequestsGiveTheirPlaceBack(t *testing.T) {
	t.Run("case P60", func(t *testing.T) {
		const limit = 64
		k := scenario.Start(t)
		k.Add("alpha", "demo")
		limitQueue(t, k, limit)
		alpha := k.Sim.Account("alpha")
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * limit}}
		defer client.CloseIdleConnections()
		var clients sync.WaitGroup
		left := make(chan struct{}, 2000)
		for range cap(left) {
			left <- struct{}{}
		}
		close(left)
		for range 2 * limit {
			clients.Go(func() {
				for range left {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(5000))*time.Microsecond)
					post(ctx, t, client, k)
					cancel()
				}
			})
		}
		clients.Wait()
		awaitIdle(t, k, "alpha")
		k.Until("the queue is empty", func() bool {
			v := k.Product.Service.Queues().Views()
			return len(v) == 1 && v[0].Running == 0 && v[0].Queued == 0
		})

		release := make(chan struct{})
		alpha.Script(simulator.OK().HoldAfter(simulator.BeforeHeaders, release).Always())
		good := strings.Replace(scenario.Messages, `"hi"`, `"hi after the storm"`, 1)
		for range limit {
			clients.Go(func() {
				if a := k.Do(http.MethodPost, "/v1/messages", good); a.Status != 200 {
					t.Errorf("got %d %s", a.Status, a.Body)
				}
			})
		}
		if _, err := alpha.Await(t.Context(), func(rs []simulator.Request) bool {
			together := 0 // an aborted request may still be on its way
			for _, r := range rs {
				if strings.Contains(string(r.Body), "after the storm") {
					together++
				}
			}
			return together == limit
		}); err != nil {
			t.Fatal(err)
		}
		close(release)
		clients.Wait()
	})
}

// Case P61: a limit that is lowered holds at once for those who wait, and a
// client that has left never reaches the upstream.
func TestLoweredLimit(t *testing.T) {
	t.Run("case P61", func(t *testing.T) {
		k := scenario.Start(t)
		k.Add("alpha", "demo")
		limitQueue(t, k, 4)
		alpha := k.Sim.Account("alpha")
		var holds []chan struct{}
		for range 5 {
			holds = append(holds, make(chan struct{}))
		}
		for _, h := range holds {
			alpha.Then(simulator.OK().HoldAfter(simulator.BeforeHeaders, h))
		}
		reached := func(n int) {
			t.Helper()
			if _, err := alpha.Await(t.Context(), func(rs []simulator.Request) bool { return len(rs) == n }); err != nil {
				t.Fatal(err)
			}
		}
		waiting := func(running, queued int64) {
			t.Helper()
			k.Until(fmt.Sprintf("%d run and %d wait", running, queued), func() bool {
				v := k.Product.Service.Queues().Views()
				return len(v) == 1 && v[0].Running == running && v[0].Queued == queued
			})
		}
		var running []<-chan scenario.Answer
		for i := range 4 {
			running = append(running, inBackground(k))
			reached(i + 1)
		}
		gone := make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		go func() { post(ctx, t, http.DefaultClient, k); close(gone) }()
		waiting(4, 1)
		stays := inBackground(k)
		waiting(4, 2)
		limitQueue(t, k, 1)
		leave()
		<-gone
		for i := range 4 {
			waiting(int64(4-i), 1)
			if n := len(alpha.Requests()); n != 4 {
				t.Fatalf("with %d running the upstream has seen %d requests", 4-i, n)
			}
			close(holds[i])
			<-running[i]
		}
		reached(5)
		waiting(1, 0)
		close(holds[4])
		if a := <-stays; a.Status != 200 || len(alpha.Requests()) != 5 {
			t.Errorf("got %d, the upstream has seen %d requests", a.Status, len(alpha.Requests()))
		}
	})
}
