package view

import (
	"testing"

	"breakwater/proxy/control"
)

func TestTheSentenceAboutNotifications(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*control.Settings)
		want   string
	}{
		{"as it is at first", func(*control.Settings) {}, "You hear of everything, at most once per provider and minute."},
		{"off", func(s *control.Settings) { s.Notifications = false }, "Breakwater shows no notifications."},
		{"every kind off", func(s *control.Settings) { s.Notify = control.NotificationSettings{} }, "Breakwater shows no notifications, for every kind is off."},
		{"two kinds", func(s *control.Settings) { s.Notify = control.NotificationSettings{Terminal: true, Quota: true} }, "You hear of connections that need you, low quotas, at most once per provider and minute."},
		{
			"quiet hours", func(s *control.Settings) { s.Notify.QuietFrom, s.Notify.QuietUntil = "22:00", "07:30" },
			"You hear of everything, at most once per provider and minute. From 22:00 to 07:30 nothing is shown; what still holds is told at the end.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := control.DefaultSettings()
			tt.change(&s)
			if got := NoticeSentence(s); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Each switch changes its own kind and no other.
func TestEachKindHasItsSwitch(t *testing.T) {
	for i, k := range NoticeKinds() {
		var p control.NotificationPatch
		k.Set(&p, true)
		var s control.NotificationSettings
		p.Apply(&s)
		for j, other := range NoticeKinds() {
			if other.Get(s) != (i == j) {
				t.Errorf("%s: %s is %v", k.Label, other.Label, other.Get(s))
			}
		}
	}
}
