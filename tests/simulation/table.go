package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"breakwater/resilience/combo"
)

// Row is what the table tells of a strategy: a day, and its fairness when
// nothing is wrong.
type Row struct {
	Day  Result
	Fair float64 // Jain's index, 1 is perfectly even; 0: nothing is promised
}

// Fairness is Jain's index over what the accounts served; a weighted combo's
// shares are divided by the weights.
func (r Result) Fairness() float64 {
	var sum, squares float64
	for i, n := range r.Shares {
		x := float64(n)
		if r.Strategy == combo.Weighted {
			x /= weight(i)
		}
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(r.Shares)) * squares)
}

// percentile returns the time within which that share of the requests had their
// end.
func (r Result) percentile(p float64) time.Duration {
	if len(r.Wait) == 0 {
		return 0
	}
	sorted := slices.Clone(r.Wait)
	slices.Sort(sorted)
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

// made are the strategies that answer from several targets together: one of
// them cannot stand in for another.
var made = map[combo.Name]bool{combo.Fusion: true, combo.Pipeline: true}

// Table prints the rows in Markdown.
func Table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| strategy | served | refused by a limit | refused while somebody could | calls a request | answered in (half, 95 %) | evenness |\n")
	b.WriteString("|---|---|---|---|---|---|---|\n")
	for _, row := range rows {
		d := row.Day
		served, missed, fair := fmt.Sprintf("%.2f %%", 100*float64(d.Served)/float64(max(d.Requests, 1))), fmt.Sprint(d.Missed), "-"
		if d.Served == d.Requests {
			served = "all"
		}
		if made[d.Strategy] {
			missed = "-"
		}
		if row.Fair > 0 {
			fair = fmt.Sprintf("%.3f", row.Fair)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %d | %s | %.2f | %.1f s, %.1f s | %s |\n", d.Strategy, served, d.Own, missed,
			float64(d.Calls)/float64(max(d.Requests+d.Left, 1)), d.percentile(.5).Seconds(), d.percentile(.95).Seconds(), fair)
	}
	return b.String()
}
