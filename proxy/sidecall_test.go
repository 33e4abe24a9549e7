package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/upstream"
	"breakwater/resilience/claude"
)

// A side call whose refusal falls silent is judged by its status and by what
// came, long before its own time is over.
func TestSideCallsDoNotWaitForTheRestOfARefusal(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":`)     // the client is ours
		_ = http.NewResponseController(w).Flush() // likewise
		<-r.Context().Done()
	}))
	defer srv.Close()
	up := upstream.New(upstream.Options{})
	defer up.Close()
	began := time.Now()
	got := SideCaller(up, "test")(t.Context(), control.SideCall{SideCall: claude.SideCall{Method: http.MethodPost, Path: "/x", Body: "{}"}, BaseURL: srv.URL})
	if got.Failed || got.Status != http.StatusTooManyRequests || string(got.Body) != `{"error":` {
		t.Errorf("the reply is %+v", got)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
