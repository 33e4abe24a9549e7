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
	trace, err := traceJSON(a)
	if err != nil {
		return fmt.Errorf("trace of activity %d: %w", a.ID, err)
	}
	w.cells = append(
		w.cells[:0], number(a.ID), number(a.At.UnixMilli()),
		text(a.Method), text(a.Path), text(a.Dialect), text(a.Client), text(a.Model), yes(a.Stream), number(int64(a.Status)),
		text(a.Result), text(a.Provider), text(a.ConnectionID), text(a.ConnectionName), yes(a.FailedOver),
		number(a.DurationMs), number(a.FirstOutputMs), number(a.RequestBytes), number(a.ResponseBytes),
		text(a.EgressIP), text(triedList(a)), text(trace),
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

// reset ends the writing for now; the next row opens the file again.
func (w *rowWriter) reset() {
	w.close()
	w.stmt = nil
}

// traceJSON writes the steps. Nearly every row has but one, of the connection
// that answered: three numbers stand for it, the row has the rest.
func traceJSON(a *control.Activity) (string, error) {
	if len(a.Trace) == 0 {
		return "[]", nil
	}
	if s := a.Trace[0]; len(a.Trace) == 1 && s == onlyStep(a, s.OffsetMs, s.Status, s.DurationMs) {
		b := strconv.AppendInt(append(make([]byte, 0, 32), '['), s.OffsetMs, 10)
		b = strconv.AppendInt(append(b, ','), int64(s.Status), 10)
		b = strconv.AppendInt(append(b, ','), s.DurationMs, 10)
		return string(append(b, ']')), nil
	}
	raw, err := json.Marshal(a.Trace)
	return string(raw), err
}

// onlyStep is the step of a request whose first connection answered.
func onlyStep(a *control.Activity, offset int64, status int, duration int64) control.Step {
	return control.Step{
		Kind: control.StepAnswered, OffsetMs: offset, Status: status, DurationMs: duration,
		ConnectionID: a.ConnectionID, ConnectionName: a.ConnectionName, Provider: a.Provider, Model: a.Model,
	}
}

// readTrace is the inverse of traceJSON. What cannot be read costs the story,
// not the row.
func readTrace(a *control.Activity, trace string) []control.Step {
	var numbers []int64
	if json.Unmarshal([]byte(trace), &numbers) == nil && len(numbers) == 3 {
		return []control.Step{onlyStep(a, numbers[0], int(numbers[1]), numbers[2])}
	}
	var steps []control.Step
	if json.Unmarshal([]byte(trace), &steps) != nil || steps == nil {
		return []control.Step{}
	}
	return steps
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
// the middle of another. The connection that answered stands in the row itself,
// so that a list of it alone is left empty.
func triedList(a *control.Activity) string {
	ids := tried(a)
	if len(ids) == 0 || len(ids) == 1 && ids[0] == a.ConnectionID {
		return ""
	}
	return " " + strings.Join(ids, " ") + " "
}
