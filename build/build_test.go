package build

import (
	"runtime"
	"strings"
	"testing"
)

func TestFill(t *testing.T) {
	stamped := map[string]string{"vcs.revision": "abc", "vcs.time": "2026-01-02T03:04:05Z", "vcs.modified": "false"}
	changed := map[string]string{"vcs.revision": "abc", "vcs.modified": "true"}
	for _, tc := range []struct {
		name, commit, date   string
		facts                map[string]string
		wantCommit, wantDate string
	}{
		{"nothing known", "", "", nil, "", ""},
		{"stamped by the go command", "", "", stamped, "abc", "2026-01-02T03:04:05Z"},
		{"unclean work tree", "", "", changed, "abc+changes", ""},
		{"changes without a commit", "", "", map[string]string{"vcs.modified": "true"}, "", ""},
		{"link time wins", "def", "2026-05-05T00:00:00Z", stamped, "def", "2026-05-05T00:00:00Z"},
		{"link time wins over the unclean mark", "def", "", changed, "def", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			commit, date := fill(tc.commit, tc.date, tc.facts)
			if commit != tc.wantCommit || date != tc.wantDate {
				t.Errorf("fill = %q, %q; want %q, %q", commit, date, tc.wantCommit, tc.wantDate)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	on := " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	id := strings.Repeat("0123456789", 4)
	for _, tc := range []struct{ name, commit, date, want string }{
		{"bare", "", "", "breakwater 1.2.3" + on},
		{"date without a commit is left out", "", "2026-01-02", "breakwater 1.2.3" + on},
		{"commit", id, "", "breakwater 1.2.3 (012345678901)" + on},
		{"commit and date", id, "2026-01-02", "breakwater 1.2.3 (012345678901, 2026-01-02)" + on},
		{"unclean", id + "+changes", "", "breakwater 1.2.3 (012345678901+changes)" + on},
		{"short id", "abc", "", "breakwater 1.2.3 (abc)" + on},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := describe("1.2.3", tc.commit, tc.date); got != tc.want {
				t.Errorf("describe = %q, want %q", got, tc.want)
			}
		})
	}
}
