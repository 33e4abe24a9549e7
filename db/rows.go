package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"breakwater/proxy/control"
)

// insertRow writes a row of the log, in the order of the table's columns, which
// only ever grow at the end. A row whose id exists already is left out, and
// counted as lost.
const insertRow = "INSERT OR IGNORE INTO proxy_logs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"

// rowWriter writes rows of the log. Only the writer's goroutine uses it.
type rowWriter struct {
	store *Store
	stmt  *prepared // nil before the first row
	cells []cell
}

// insert writes rows in one transaction and returns how many of them were left
// out. It holds the pool's only connection meanwhile, so that no other write
// has to wait for the file's lock.
func (w *rowWriter) insert(ctx context.Context, rows []control.Activity) (skipped int, err error) {
	pool, err := w.store.write.DB()
	if err != nil {
		return 0, err
	}
	turn, err := pool.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer turn.Close()
	if err := w.ready(); err != nil {
		return 0, err
	}
	if err := w.stmt.exec("BEGIN IMMEDIATE"); err != nil {
		return 0, err
	}
	skipped, err = w.all(rows)
	if err == nil {
		err = w.stmt.exec("COMMIT")
	}
	if err != nil {
		return 0, errors.Join(err, w.rollback())
	}
	return skipped, nil
}

// ready compiles the statement before the first row.
func (w *rowWriter) ready() (err error) {
	if w.stmt == nil {
		w.stmt, err = prepare(w.store.path, insertRow, writePool.pragmas())
	}
	return err
}

// all writes the rows into the open transaction.
func (w *rowWriter) all(rows []control.Activity) (skipped int, err error) {
	for i := range rows {
		if err := w.fill(&rows[i]); err != nil {
			return 0, err
		}
		changed, err := w.stmt.run(w.cells)
		if err != nil {
			return 0, err
		}
		if changed == 0 {
			skipped++
		}
	}
	return skipped, nil
}

// rollback ends a transaction that failed. Some errors have ended it already.
func (w *rowWriter) rollback() error {
	if w.stmt.inTransaction() {
		return w.stmt.exec("ROLLBACK")
	}
	return nil
}

// fill sets the values of a row.
func (w *rowWriter) fill(a *control.Activity) error {
	trace, err := traceJSON(a.Trace)
	if err != nil {
		return fmt.Errorf("trace of activity %d: %w", a.ID, err)
	}
	w.cells = append(
		w.cells[:0], number(a.ID), number(a.At.UnixMilli()),
		text(a.Method), text(a.Path), text(a.Dialect), text(a.Client), text(a.Model), yes(a.Stream), number(int64(a.Status)),
		text(a.Result), text(a.Provider), text(a.ConnectionID), text(a.ConnectionName), yes(a.FailedOver),
		number(a.DurationMs), number(a.FirstOutputMs), number(a.RequestBytes), number(a.ResponseBytes),
		text(a.EgressIP), text(triedList(tried(a))), text(trace),
		known(a.InputTokens), known(a.OutputTokens), known(a.CacheReadTokens), known(a.CacheWriteTokens), known(a.ReasoningTokens),
		text(a.StopReason), text(a.Combo),
	)
	return nil
}

// close ends the writing.
func (w *rowWriter) close() {
	if w.stmt != nil {
		w.stmt.close()
	}
}

// traceJSON writes the steps. The plain case, one connection that answered, is
// written by hand: it is nearly every row.
func traceJSON(steps []control.Step) (string, error) {
	if len(steps) == 0 {
		return "[]", nil
	}
	if s := &steps[0]; len(steps) == 1 && s.Until == nil && s.Reason == "" &&
		isPlain(s.ConnectionID) && isPlain(s.ConnectionName) && isPlain(s.Provider) && isPlain(s.Model) {
		return plainStep(s), nil
	}
	raw, err := json.Marshal(steps)
	return string(raw), err
}

func plainStep(s *control.Step) string {
	b := make([]byte, 0, 256)
	b = append(b, `[{"kind":"`...)
	b = append(b, s.Kind...)
	b = append(b, `","offsetMs":`...)
	b = strconv.AppendInt(b, s.OffsetMs, 10)
	for _, f := range [...][2]string{
		{`,"connectionId":"`, s.ConnectionID},
		{`,"connectionName":"`, s.ConnectionName},
		{`,"provider":"`, s.Provider},
		{`,"model":"`, s.Model},
	} {
		if f[1] != "" {
			b = append(append(append(b, f[0]...), f[1]...), '"')
		}
	}
	if s.Status != 0 {
		b = strconv.AppendInt(append(b, `,"status":`...), int64(s.Status), 10)
	}
	if s.DurationMs != 0 {
		b = strconv.AppendInt(append(b, `,"durationMs":`...), s.DurationMs, 10)
	}
	return string(append(b, `}]`...))
}

// isPlain tells that a text stands in JSON as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// tried returns the connections that were really tried, each once.
func tried(a *control.Activity) []string {
	var ids []string
	add := func(id string) {
		if id == "" {
			return
		}
		if slices.Contains(ids, id) {
			return
		}
		ids = append(ids, id)
	}
	for i := range a.Trace {
		switch step := &a.Trace[i]; step.Kind {
		case control.StepFailed, control.StepAnswered, control.StepCut, control.StepLeft:
			add(step.ConnectionID)
		}
	}
	add(a.ConnectionID)
	return ids
}

// triedList puts each id between spaces, so that a search for one never finds
// the middle of another.
func triedList(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return " " + strings.Join(ids, " ") + " "
}
