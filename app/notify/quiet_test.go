package notify

import (
	"testing"
	"time"

	"breakwater/proxy/control"
)

func TestQuietHours(t *testing.T) {
	day := func(hour, minute int) time.Time { return time.Date(2026, 12, 1, hour, minute, 0, 0, zone) }
	for _, tt := range []struct {
		name, from, until string
		now               time.Time
		end               time.Time // zero: not quiet
	}{
		{"none set", "", "", day(3, 0), time.Time{}},
		{"half set", "22:00", "", day(3, 0), time.Time{}},
		{"damaged", "25:00", "07:00", day(3, 0), time.Time{}},
		{"both alike", "07:00", "07:00", day(7, 0), time.Time{}},
		{"before the night", "22:00", "07:30", day(21, 59), time.Time{}},
		{"at its beginning", "22:00", "07:30", day(22, 0), day(24+7, 30)},
		{"after midnight", "22:00", "07:30", day(0, 0), day(7, 30)},
		{"its last minute", "22:00", "07:30", day(7, 29), day(7, 30)},
		{"at its end", "22:00", "07:30", day(7, 30), time.Time{}},
		{"until midnight", "20:00", "00:00", day(23, 59), day(24, 0)},
		{"within a day", "12:00", "13:00", day(12, 30), day(13, 0)},
		{"within a day, later", "12:00", "13:00", day(13, 0), time.Time{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := QuietEnd(tt.now, control.NotificationSettings{QuietFrom: tt.from, QuietUntil: tt.until})
			if !got.Equal(tt.end) {
				t.Errorf("quiet until %v, want %v", got, tt.end)
			}
		})
	}
}
