package catalog

import (
	_ "embed" // the list of models
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Model is a well known model of a provider.
type Model struct {
	Name string // as the provider's API takes it, without a prefix
	// Priced tells that the prices are known; they are US dollars a million
	// tokens.
	Priced        bool
	Input, Output float64
	Context       int64 // window in tokens
	MaxOutput     int64 // longest answer in tokens
	Tools, Vision bool
	Schema        bool // structured output
	Reasoning     bool
}

//go:embed models.txt
var modelList string

var models = sync.OnceValue(func() map[string][]Model {
	out := map[string][]Model{}
	for n, line := range strings.Split(modelList, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		provider, m, err := parseModel(line)
		if err != nil {
			panic(fmt.Sprintf("models.txt:%d: %v", n+1, err)) // a test reads the whole list
		}
		out[provider] = append(out[provider], m)
	}
	return out
})

// Models returns the well known models of a provider, given by its id, the
// newest first. The slice must not be changed.
func Models(provider string) []Model { return models()[provider] }

func parseModel(line string) (provider string, m Model, err error) {
	f := strings.Split(line, "\t")
	if len(f) != 7 {
		return "", m, fmt.Errorf("%d fields in place of 7", len(f))
	}
	m.Name = f[1]
	if m.Priced = f[2] != "-"; m.Priced {
		for i, at := range []*float64{&m.Input, &m.Output} {
			if *at, err = strconv.ParseFloat(f[2+i], 64); err != nil {
				return "", m, err
			}
		}
	}
	for i, at := range []*int64{&m.Context, &m.MaxOutput} {
		if *at, err = strconv.ParseInt(f[4+i], 10, 64); err != nil {
			return "", m, err
		}
	}
	for _, c := range f[6] {
		switch c {
		case 't':
			m.Tools = true
		case 'v':
			m.Vision = true
		case 's':
			m.Schema = true
		case 'r':
			m.Reasoning = true
		case '-':
		default:
			return "", m, fmt.Errorf("no ability is called %q", c)
		}
	}
	return f[0], m, nil
}
