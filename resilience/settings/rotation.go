package settings

// RotationRule tells whether a failure of one status class moves on to another
// connection, and after how many in how long (sheet §3.7).
type RotationRule struct {
	On            bool
	Threshold     int64
	WindowSeconds int64
}

// Rotation holds the process-wide rotation switches. A connection may override
// any of them (sheet §3.7).
type Rotation struct {
	Enabled                bool
	RateLimitResetSeconds  int64 // 0: no override
	DisableTagWithoutReset bool
	On429, On500, On502    RotationRule
	On400                  RotationRule
}

func defaultRotation() Rotation {
	on := RotationRule{On: true, Threshold: 1, WindowSeconds: 120}
	off := RotationRule{Threshold: 1, WindowSeconds: 120}
	return Rotation{Enabled: true, DisableTagWithoutReset: true, On429: on, On500: on, On502: on, On400: off}
}
