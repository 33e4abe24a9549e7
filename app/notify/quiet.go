package notify

import (
	"time"

	"breakwater/proxy/control"
)

// QuietEnd returns when the quiet hours end in which now lies, in now's zone;
// zero when it is not quiet. The end is told on the clock: where the clock is
// put forward or back that night, the hours are shorter or longer.
func QuietEnd(now time.Time, want control.NotificationSettings) time.Time {
	from, ok := timeOfDay(want.QuietFrom)
	until, also := timeOfDay(want.QuietUntil)
	if !ok || !also || from == until {
		return time.Time{}
	}
	// The hours that began yesterday or today; now may lie in either.
	for _, day := range []int{-1, 0} {
		begin := at(now, day, from)
		if until <= from {
			day++
		}
		if end := at(now, day, until); !now.Before(begin) && now.Before(end) {
			return end
		}
	}
	return time.Time{}
}

// at is the moment of a time of day, some days from now.
func at(now time.Time, days int, minutes int) time.Time {
	return time.Date(now.Year(), now.Month(), now.Day()+days, minutes/60, minutes%60, 0, 0, now.Location())
}

// timeOfDay reads "22:30" as minutes since midnight.
func timeOfDay(s string) (minutes int, ok bool) {
	t, err := time.Parse("15:04", s)
	return t.Hour()*60 + t.Minute(), err == nil
}
