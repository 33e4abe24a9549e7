package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// EnvDataDir names the data folder to every process of the program.
const EnvDataDir = "BREAKWATER_DATA_DIR"

// demoFolder is the demo's data folder, in that of the installation.
const demoFolder = "demo"

// demoGrace is how long a demo that cannot start takes to say so.
const demoGrace = 2 * time.Second

// StartDemo starts a demo beside the running Breakwater: its own process, with
// a free port, its data in the folder "demo" below dataDir, and a window of its
// own. It outlives its caller. A demo that runs already shows its window. The
// error says why the demo ended at once.
func StartDemo(ctx context.Context, dataDir string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	return startDemo(ctx, exec.CommandContext(context.WithoutCancel(ctx), self, "--demo", "--port", "0"), dataDir)
}

func startDemo(ctx context.Context, cmd *exec.Cmd, dataDir string) error {
	dir := filepath.Join(dataDir, demoFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the demo's data folder: %w", err)
	}
	// A file and not a pipe: the demo goes on writing after its caller ended.
	output, err := os.OpenFile(filepath.Join(dir, "demo.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("open the demo's log: %w", err)
	}
	defer func() { _ = output.Close() }() // the child has its own
	cmd.Stdout, cmd.Stderr = output, output
	cmd.Env = append(without(cmd.Environ(), EnvURL, EnvToken, EnvNoTray, "BREAKWATER_PORT"), EnvDataDir+"="+dataDir)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the demo: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the demo or with this process
	select {
	case err := <-ended:
		if err == nil {
			return nil // one ran already and has been brought to front
		}
		if last := lastLine(output.Name()); last != "" {
			return errors.New(last)
		}
		return fmt.Errorf("the demo ended: %w", err)
	case <-time.After(demoGrace):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// without drops variables from an environment.
func without(env []string, names ...string) []string {
	out := make([]string, 0, len(env))
next:
	for _, e := range env {
		for _, n := range names {
			if strings.HasPrefix(e, n+"=") {
				continue next
			}
		}
		out = append(out, e)
	}
	return out
}

// lastLine returns the last line of a small file.
func lastLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "breakwater: ")
}
