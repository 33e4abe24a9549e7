//go:build linux

package desktop

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

// trafficVar is how long the test below sends requests, "1h" for a release.
const trafficVar = "BREAKWATER_TRAFFIC"

// TestWindowAndTrayStayCheapUnderTraffic compares three programs that serve the
// same twenty requests a second: one with its window open, one with its tray
// alone, one headless.
func TestWindowAndTrayStayCheapUnderTraffic(t *testing.T) {
	span, err := time.ParseDuration(os.Getenv(trafficVar))
	if err != nil {
		t.Skipf("%s is not a duration such as 1h; this takes as long as it says", trafficVar)
	}
	d := New(t, true)
	d.Need("xdotool")
	d.Background("openbox")
	panel := d.Panel()
	shown := startProgram(t, d)
	panel.Icon().Click("Open Breakwater")
	window := windowPid(t, d)
	tray, headless := startProgramIn(t, d, "tray"), startProgramIn(t, d, "headless", "--headless")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, p := range []*program{shown, tray, headless} {
		go p.load(ctx, 50*time.Millisecond)
	}
	<-time.After(20 * time.Second) // all pages and pools are there
	pids := []int{window, tray.Pid(), headless.Pid()}
	share := make([]float64, len(pids))
	for i, pid := range pids {
		share[i] = usage(t, pid).cpu.Seconds()
	}
	<-time.After(span)
	for i, pid := range pids {
		share[i] = 100 * (usage(t, pid).cpu.Seconds() - share[i]) / span.Seconds()
	}
	t.Logf("of a core in %s: window %.2f %%, tray %.2f %%, headless %.2f %%", span, share[0], share[1], share[2])
	if share[0] > 6 {
		t.Error("the window may take 6 % of a core")
	}
	if share[1] > share[2]+1 {
		t.Error("a tray may take 1 % of a core more than no tray")
	}
}

// windowPid waits for the window and returns the process that draws it.
func windowPid(t *testing.T, d *Desktop) int {
	t.Helper()
	out, err := d.Tool("xdotool", "getwindowpid", d.Window("Breakwater"))
	if err != nil {
		t.Fatal(out, err)
	}
	pid, err := strconv.Atoi(out)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// load sends a streamed request every so often until ctx ends.
func (p *program) load(ctx context.Context, every time.Duration) {
	const body = `{"model":"claude-sonnet-4-5","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"hello"}]}`
	for turn := time.NewTicker(every); ctx.Err() == nil; <-turn.C {
		go func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/messages", strings.NewReader(body))
			if err != nil {
				return
			}
			req.Header.Set("Content-Type", "application/json")
			if res, err := http.DefaultClient.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		}()
	}
}

// TestScrollingLeavesRoomForSixtyFramesASecond scrolls long lists in the real
// window. Pixels are a graphics card's work, so a Mesa driver that draws none
// stands for one: what is measured is layout, refresh, the walk over the objects
// and all calls of OpenGL.
func TestScrollingLeavesRoomForSixtyFramesASecond(t *testing.T) {
	const (
		connections = 150
		steps       = 240
		budget      = time.Second / 60
	)
	d := New(t, true)
	d.extra = append(d.extra, "GALLIUM_NOOP=1")
	d.Need("xdotool")
	d.Background("openbox")
	panel := d.Panel()
	p := startProgram(t, d)
	for i := range connections {
		in := control.ConnectionInput{Provider: "openai", Name: fmt.Sprintf("Team account %d", i+1), APIKey: fmt.Sprintf("sk-scroll-%08d", i)}
		if _, err := p.api.AddConnection(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	go p.load(ctx, 5*time.Millisecond)
	p.d.Eventually("a long list of requests", func() bool { return p.newest(t).ID > 400 })
	stop()
	panel.Icon().Click("Open Breakwater")
	pid, window := windowPid(t, d), d.Window("Breakwater")
	for _, page := range []string{"connections", "activity"} {
		t.Run(page, func(t *testing.T) {
			if err := p.api.ShowWindow(t.Context(), page); err != nil {
				t.Fatal(err)
			}
			d.Settle(func() int { return int(usage(t, pid).cpu / (20 * time.Millisecond)) })
			before := usage(t, pid).cpu
			out, err := d.Tool("xdotool", "mousemove", "--window", window, "450", "450",
				"click", "--repeat", strconv.Itoa(steps/2), "--delay", "17", "5",
				"click", "--repeat", strconv.Itoa(steps/2), "--delay", "17", "4")
			if err != nil {
				t.Fatal(out, err)
			}
			took := (usage(t, pid).cpu - before) / steps
			t.Logf("%.1f ms of CPU a step", took.Seconds()*1000)
			if took > budget {
				t.Errorf("a frame has %.1f ms", budget.Seconds()*1000)
			}
			if took < budget/50 {
				t.Error("nothing moved")
			}
		})
	}
}
