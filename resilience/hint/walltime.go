package hint

import "time"

// wallTimes returns the moments at which clocks of a zone show a time, in order;
// named gives the time as if it were in UTC. Where clocks jump forward over it, that is the first moment after the
// jump; where they go back it is shown twice, and both are returned (Q17).
// Zones may jump by any amount, half an hour or a day among them.
func wallTimes(named time.Time, zone *time.Location) []time.Time {
	near := time.Date(named.Year(), named.Month(), named.Day(), named.Hour(), named.Minute(), named.Second(), 0, zone)
	start, end := near.ZoneBounds()
	var found []time.Time
	for _, change := range []time.Time{start, end} {
		before, after := near, near
		if !change.IsZero() {
			before, after = shown(named, change.Add(-1)), shown(named, change)
		}
		for _, at := range []time.Time{before, after} {
			if offset(at) == int(named.Sub(at)/time.Second) {
				found = insert(found, at)
			}
		}
		if len(found) == 0 && !change.IsZero() && !before.Before(change) && after.Before(change) {
			return []time.Time{change}
		}
	}
	if len(found) == 0 {
		return []time.Time{near}
	}
	return found
}

// shown returns the moment at which clocks would show the named time with the
// offset that holds at.
func shown(named, at time.Time) time.Time {
	return named.Add(-time.Duration(offset(at)) * time.Second).In(at.Location())
}

func offset(at time.Time) int {
	_, seconds := at.Zone()
	return seconds
}

// insert adds a moment in order, once.
func insert(list []time.Time, at time.Time) []time.Time {
	for i, have := range list {
		if have.Equal(at) {
			return list
		}
		if at.Before(have) {
			return append(list[:i], append([]time.Time{at}, list[i:]...)...)
		}
	}
	return append(list, at)
}
