package hint

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	// Zone names in upstream texts must mean the same on every system; Windows
	// has no zone files of its own.
	_ "time/tzdata"
)

// clockTime finds "resets 8pm (Asia/Tokyo)", "resets at 20:30 UTC", "resets
// Mon 9am (Europe/Paris)" and "resets Jan 5, 2030, 3pm".
var clockTime = regexp.MustCompile(`(?i)\b(?:resets?|renews?|available(?:\s+again)?|try\s+again)\s*(?:at|on)?\s*:?\s+` +
	`(?:(sun|mon|tue|wed|thu|fri|sat)[a-z]*\.?,?\s+(?:at\s+)?)?` +
	`(?:(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(?:(\d{4}),?\s+)?(?:at\s+)?)?` +
	`(\d{1,2})(?::(\d\d))?\s*([ap]\.?m\b\.?)?` +
	`(?:\s*\(([^()\s]{1,64})\)|\s+(UTC|GMT|[ECMP][SD]T)\b)?`)

// clock is a time of day with what the text says about its date.
type clock struct {
	weekday      int // -1: not named
	month, day   int // 0: not named
	year         int // 0: not named
	hour, minute int
	zone         *time.Location
}

// fromClock reads a clock time and returns the wait until it next comes.
func fromClock(words string, now time.Time, zone *time.Location) (find, bool) {
	for _, m := range clockTime.FindAllStringSubmatch(words, maxLeads) {
		c, ok := readClock(m, zone)
		if !ok {
			continue
		}
		if at, ok := c.next(now); ok {
			return find{wait: at.Sub(now), raw: m[0], source: SourceBody}, true
		}
	}
	return find{}, false
}

// readClock turns a match into a clock. A bare number is no time of day, and a
// zone that nobody knows makes the text useless rather than wrong by hours.
func readClock(m []string, zone *time.Location) (clock, bool) {
	c := clock{weekday: -1, zone: zone}
	c.hour, _ = strconv.Atoi(m[5])
	c.minute, _ = strconv.Atoi(m[6])
	half := strings.ToLower(m[7])
	if half == "" && m[6] == "" {
		return c, false
	}
	if half != "" {
		if c.hour < 1 || c.hour > 12 {
			return c, false
		}
		c.hour %= 12
		if half[0] == 'p' {
			c.hour += 12
		}
	}
	if c.hour > 23 || c.minute > 59 {
		return c, false
	}
	if m[1] != "" {
		c.weekday = strings.Index("sunmontuewedthufrisat", strings.ToLower(m[1])) / 3
	}
	if m[2] != "" {
		c.month = strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(m[2]))/3 + 1
		c.day, _ = strconv.Atoi(m[3])
		c.year, _ = strconv.Atoi(m[4])
	}
	if name := m[8] + m[9]; name != "" {
		z, ok := zoneNamed(name)
		if !ok {
			return c, false
		}
		c.zone = z
	}
	return c, true
}

// zoneNamed finds a zone by a word with one meaning or by its IANA name.
// "Local" would mean the machine we run on, which the upstream cannot know.
func zoneNamed(name string) (*time.Location, bool) {
	if hours, ok := zoneOffsets[strings.ToLower(name)]; ok {
		return time.FixedZone(name, hours*3600), true
	}
	if !strings.Contains(name, "/") || strings.Contains(name, "..") {
		return nil, false
	}
	z, err := time.LoadLocation(name)
	return z, err == nil
}

// next returns the first moment after now that the clock describes. Of a time
// that clocks show twice that is the first one still ahead (Q17).
func (c clock) next(now time.Time) (time.Time, bool) {
	y, m, d := now.In(c.zone).Date()
	if c.month > 0 {
		return c.nextDate(now, y)
	}
	for ahead := 0; ahead <= 8; ahead++ {
		if named := time.Date(y, m, d+ahead, 0, 0, 0, 0, time.UTC); c.weekday >= 0 && int(named.Weekday()) != c.weekday {
			continue
		}
		for _, at := range c.on(y, m, d+ahead) {
			if at.After(now) {
				return at, true
			}
		}
	}
	return time.Time{}, false
}

// nextDate finds the named date in the named year, else this year or the next.
func (c clock) nextDate(now time.Time, thisYear int) (time.Time, bool) {
	years := []int{c.year}
	if c.year == 0 {
		years = []int{thisYear, thisYear + 1}
	}
	for _, y := range years {
		if time.Date(y, time.Month(c.month), c.day, 0, 0, 0, 0, time.UTC).Day() != c.day {
			continue // no such date in that year
		}
		for _, at := range c.on(y, time.Month(c.month), c.day) {
			if at.After(now) {
				return at, true
			}
		}
	}
	return time.Time{}, false
}

// on returns when the clock shows its time on a date (see wallTimes).
func (c clock) on(y int, m time.Month, d int) []time.Time {
	return wallTimes(time.Date(y, m, d, c.hour, c.minute, 0, 0, time.UTC), c.zone)
}
