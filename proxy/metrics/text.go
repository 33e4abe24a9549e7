package metrics

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// page is a document in Prometheus's text format, version 0.0.4.
type page struct{ bytes.Buffer }

// family begins a family of samples.
func (p *page) family(name, kind, help string) {
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// sample writes one line; labels are names and values in turn.
func (p *page) sample(name string, value float64, labels ...string) {
	p.WriteString(name)
	for i := 0; i+1 < len(labels); i += 2 {
		p.WriteByte("{,"[min(i, 1)])
		p.WriteString(labels[i] + `="` + escape(labels[i+1]) + `"`)
	}
	if len(labels) > 0 {
		p.WriteByte('}')
	}
	p.WriteByte(' ')
	p.WriteString(strconv.FormatFloat(value, 'g', -1, 64))
	p.WriteByte('\n')
}

var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func escape(v string) string { return escapes.Replace(v) }

// counters writes a family whose two labels are the parts of the keys.
func (p *page) counters(name, help, first, second string, values map[pair]uint64) {
	p.family(name, "counter", help)
	keys := slices.SortedFunc(maps.Keys(values), func(a, b pair) int {
		return strings.Compare(a.a+"\x00"+a.b, b.a+"\x00"+b.b)
	})
	for _, k := range keys {
		p.sample(name, float64(values[k]), first, k.a, second, k.b)
	}
}

// gauges writes a family of one label.
func (p *page) gauges(name, help, label string, values map[string]float64) {
	p.family(name, "gauge", help)
	for _, k := range slices.Sorted(maps.Keys(values)) {
		p.sample(name, values[k], label, k)
	}
}

// single writes a family of one sample.
func (p *page) single(name, kind, help string, value float64) {
	p.family(name, kind, help)
	p.sample(name, value)
}
