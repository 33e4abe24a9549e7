package hint

import (
	"strings"
	"time"
)

// dateForms are the three HTTP dates (RFC 9110 §5.6.7), their sloppy cousins,
// and RFC 3339 with and without its T. The zone has been cut off and comes
// back as a fixed offset.
var dateForms = []string{
	"Mon, 2 Jan 2006 15:04:05",
	"Monday, 2-Jan-06 15:04:05",
	"Monday, 2-Jan-2006 15:04:05",
	"Mon Jan _2 15:04:05 2006",
	"2 Jan 2006 15:04:05",
	"2006-01-02T15:04:05",
	"2006-01-02 15:04:05",
	"2006-01-02T15:04",
	"2006-01-02 15:04",
}

// zoneOffsets are the zone words that have one meaning on the wire: UTC and the
// North American ones of RFC 822. Any other word would be a guess.
var zoneOffsets = map[string]int{
	"z": 0, "utc": 0, "gmt": 0, "ut": 0,
	"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
}

// parseDate reads a date that names its zone; the asctime form is UTC by
// definition.
func parseDate(s string) (time.Time, bool) {
	return parseDateIn(s, nil)
}

// parseDateIn reads a date; one without a zone is read in zone, or refused
// when zone is nil.
func parseDateIn(s string, zone *time.Location) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if len(s) < 16 || len(s) > 64 {
		return time.Time{}, false
	}
	body, loc, ok := cutZone(s)
	if !ok {
		body, loc = s, zone
	}
	body = strings.ToUpper(body) // month and day names are read in any case, the T must be upper
	for _, form := range dateForms {
		l := loc
		if form == "Mon Jan _2 15:04:05 2006" && l == nil {
			l = time.UTC
		}
		if l == nil {
			continue
		}
		if t, err := time.Parse(form, body); err == nil {
			// Of a time that clocks show twice the later one counts: the earlier
			// may have passed and would then state nothing (Q17).
			all := wallTimes(time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC), l)
			return all[len(all)-1].Add(time.Duration(t.Nanosecond())), true
		}
	}
	return time.Time{}, false
}

// cutZone takes the zone off the end of a date.
func cutZone(s string) (string, *time.Location, bool) {
	if n := len(s); n > 6 && (s[n-6] == '+' || s[n-6] == '-') && s[n-3] == ':' {
		return offsetZone(s[:n-6], s[n-6], s[n-5:n-3]+s[n-2:])
	}
	if n := len(s); n > 5 && (s[n-5] == '+' || s[n-5] == '-') && s[n-6] != '-' {
		return offsetZone(s[:n-5], s[n-5], s[n-4:])
	}
	i := len(s)
	for i > 0 && (s[i-1]|0x20) >= 'a' && (s[i-1]|0x20) <= 'z' {
		i--
	}
	hours, ok := zoneOffsets[strings.ToLower(s[i:])]
	if !ok {
		return "", nil, false
	}
	return strings.TrimSpace(s[:i]), time.FixedZone("", hours*3600), true
}

// offsetZone reads the four digits of a numeric zone.
func offsetZone(body string, sign byte, digits string) (string, *time.Location, bool) {
	for i := range len(digits) {
		if !isDigit(digits[i]) {
			return "", nil, false
		}
	}
	hours := int(digits[0]-'0')*10 + int(digits[1]-'0')
	minutes := int(digits[2]-'0')*10 + int(digits[3]-'0')
	if hours > 14 || minutes > 59 {
		return "", nil, false
	}
	seconds := hours*3600 + minutes*60
	if sign == '-' {
		seconds = -seconds
	}
	return strings.TrimSpace(body), time.FixedZone("", seconds), true
}
