package view

import (
	"slices"
	"strconv"
	"time"

	"breakwater/proxy/control"
)

// ActivityRow is one line of the activity list.
type ActivityRow struct {
	ID       int64
	Time     string
	TimeTip  string
	Client   string
	Model    string
	Who      string // who answered, or a dash
	Failover bool   // another connection failed first
	Badge    Badge  // the result, Word is the status
	Duration string

	FirstWords        string // time to them
	Tokens, TokensTip string // in and out
}

// NewActivityRow returns the line of one request.
func NewActivityRow(a control.Activity, now time.Time) ActivityRow {
	who := a.ConnectionName
	if who == "" {
		who = "–"
	}
	first := ""
	if a.FirstOutputMs >= 0 {
		first = Span(a.FirstOutputMs)
	}
	return ActivityRow{
		FirstWords: first, Tokens: Tokens(a), TokensTip: TokensTip(a),
		ID: a.ID, Time: rowTime(a.At, now), TimeTip: Exact(a.At), Client: Client(a.Client),
		Model: orDash(a.Model), Who: who, Failover: a.FailedOver,
		Badge: ResultBadge(a), Duration: Span(a.DurationMs),
	}
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func rowTime(t, now time.Time) string {
	if t, now := t.Local(), now.Local(); t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return Clock(t, now)
}

// ResultBadge returns how a request ended, with the status as its word.
func ResultBadge(a control.Activity) Badge {
	b := Badge{Word: strconv.Itoa(a.Status)}
	switch a.Result {
	case "answered":
		b.Shape, b.Role, b.Tip = ShapeDisc, RoleSuccess, T("answered")
		if a.FailedOver {
			b.Shape, b.Role, b.Tip = ShapeHalf, RoleSuccess, T("answered after another connection failed")
		}
	case "refused":
		b.Shape, b.Role, b.Tip = ShapeBroken, RoleError, T("refused: nothing was left to serve it")
	case "client_left":
		b.Shape, b.Role, b.Word, b.Tip = ShapeLeave, RoleMuted, T("left"), T("the client went away")
	case "truncated":
		b.Shape, b.Role, b.Word, b.Tip = ShapeCut, RoleWarning, T("cut"), T("the stream broke after output had been sent")
	default:
		b.Shape, b.Role, b.Tip = ShapeCross, RoleError, T("failed")
	}
	return b
}

// Trouble reports whether the "trouble only" filter shows a request.
func Trouble(a control.Activity) bool { return a.FailedOver || a.Result != "answered" }

// Merge puts finished requests into a list that is newest first, without
// doubles, and keeps at most limit of them.
func Merge(list []control.Activity, limit int, fresh ...control.Activity) []control.Activity {
	var head []control.Activity // newer than the whole list, which then moves but once
	for _, a := range fresh {
		if len(list) == 0 || a.ID > list[0].ID {
			head = place(head, a)
		} else {
			list = place(list, a)
		}
	}
	list = slices.Insert(list, 0, head...)
	if len(list) > limit {
		clear(list[limit:])
		list = list[:limit]
	}
	return list
}

// place gives a its place, or takes the place of the one with its number.
func place(list []control.Activity, a control.Activity) []control.Activity {
	at := 0
	for at < len(list) && list[at].ID > a.ID {
		at++
	}
	if at < len(list) && list[at].ID == a.ID {
		list[at] = a
		return list
	}
	return slices.Insert(list, at, a)
}

// ActivityLine is the header line of the activity page: how the requests in
// the list went.
func ActivityLine(list []control.Activity) string {
	over, failed := 0, 0
	for _, a := range list {
		switch {
		case a.Result == "answered" && a.FailedOver:
			over++
		case a.Result == "failed" || a.Result == "refused" || a.Result == "truncated":
			failed++
		}
	}
	switch {
	case len(list) == 0:
		return T("Nothing has come in yet.")
	case over+failed == 0:
		return Tf("The last %d requests were answered at the first try.", len(list))
	case failed == 0:
		return Tf("Of the last %d requests all were answered, %d by another connection than the first.", len(list), over)
	default:
		return Tf("Of the last %d requests, answered by another connection than the first: %d, failed: %d.", len(list), over, failed)
	}
}
