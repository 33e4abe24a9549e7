package rest

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// query reads typed values from a URL's query and collects what is wrong: also
// what was not asked for, since a filter that is passed over misleads.
type query struct {
	values url.Values
	known  []string
	merge
}

// text reads a value as it is.
func (q *query) text(name string) string {
	q.known = append(q.known, name)
	if len(q.values[name]) > 1 {
		q.add(name, "Given twice")
	}
	return q.values.Get(name)
}

// err is what is wrong with the query, once all of it was read.
func (q *query) err() error {
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if !slices.Contains(q.known, name) {
			q.add(name, "Unknown parameter")
		}
	}
	return q.merge.err()
}

// unasked is a handler that takes no parameter at all.
func unasked(handler func(*api, *http.Request) (int, any, error)) func(*api, *http.Request) (int, any, error) {
	return func(a *api, r *http.Request) (int, any, error) {
		q := query{values: r.URL.Query()}
		if err := q.err(); err != nil {
			return 0, nil, err
		}
		return handler(a, r)
	}
}

func (q *query) integer(name string, absent, low, high int) int {
	v := q.text(name)
	if v == "" {
		return absent
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < low || n > high {
		q.add(name, fmt.Sprintf("Expected an integer from %d to %d", low, high))
		return absent
	}
	return n
}

func (q *query) boolean(name string) bool {
	switch q.text(name) {
	case "", "false", "0":
		return false
	case "true", "1":
		return true
	}
	q.add(name, "Expected true or false")
	return false
}
