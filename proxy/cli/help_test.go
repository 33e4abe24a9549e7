package cli

import (
	"flag"
	"io"
	"regexp"
	"strings"
	"testing"
)

// Every command explains itself with an example that it understands, and the
// help of a group has the first of each.
func TestEveryCommandHasAnExampleThatItTakes(t *testing.T) {
	called := regexp.MustCompile(`breakwater ([^|)>]+)`)
	b := newBench(t)
	for _, c := range commands() {
		list := examples[c.name()]
		if len(list) == 0 {
			t.Errorf("%s has no example", c.name())
			continue
		}
		for _, e := range list {
			m := called.FindStringSubmatch(e)
			if m == nil {
				t.Errorf("%s: %s calls nothing", c.name(), e)
				continue
			}
			found, rest, err := pick(strings.Fields(m[1]))
			if err != nil || found.name() != c.name() {
				t.Errorf("%s: %s is for %s, %v", c.name(), e, found.name(), err)
				continue
			}
			fs := flag.NewFlagSet("x", flag.ContinueOnError)
			fs.SetOutput(io.Discard)
			fs.Bool("json", false, "")
			c.setup(fs)
			if _, err := parse(fs, rest); err != nil {
				t.Errorf("%s: %s: %v", c.name(), e, err)
			}
		}
		b.want(0, append(strings.Fields(c.name()), "--help"), sentence(c.about), "Examples:", list[0])
		b.want(0, []string{c.group, "--help"}, list[0])
	}
	if len(examples) != len(commands()) {
		t.Error("there is an example of no command")
	}
}

// A usage line shows an argument in brackets where the command does without it.
func TestUsageLinesTellWhatIsRequired(t *testing.T) {
	for _, c := range commands() {
		if c.group == "events" || c.group == "doctor" { // they take none, and look around
			continue
		}
		code, _, errs := newBench(t).run(strings.Fields(c.name())...)
		if missing, wanted := code == exitUsage, c.args != "" && !strings.HasPrefix(c.args, "["); missing != wanted {
			t.Errorf("breakwater %s without arguments ends with %d: %s", c.line(), code, errs)
		}
	}
}
