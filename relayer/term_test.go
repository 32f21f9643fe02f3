package relayer

import (
	"testing"
	"time"
	"unsafe"
)

// monotonic moves a time's monotonic clock alone, as when the wall clock is set while the process runs. There is no
// other way to make such a time: the clock of a bubble cannot be set.
func monotonic(t time.Time, d time.Duration) time.Time {
	wall := t.Round(0)
	ext := (*int64)(unsafe.Add(unsafe.Pointer(&t), unsafe.Sizeof(uint64(0)))) // behind the wall clock, see time.Time
	*ext += int64(d)
	if !t.Round(0).Equal(wall) {
		panic("time.Time is not as it was")
	}
	return t
}

func TestTermEndsByWhicheverClockIsFirst(t *testing.T) {
	const length = 35 * time.Second
	asked := time.Now()
	for name, tt := range map[string]struct {
		wall, monotonic time.Duration // since asked
		ours            bool
	}{
		"at once":                     {0, 0, true},
		"just before the margin":      {30*time.Second - 1, 30*time.Second - 1, true},
		"at the margin":               {30 * time.Second, 30 * time.Second, false},
		"machine slept":               {time.Hour, time.Second, false}, // the monotonic clock stands still in sleep
		"wall clock was set back":     {-time.Hour, 30 * time.Second, false},
		"wall clock was set on a bit": {29 * time.Second, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := monotonic(asked.Add(tt.wall), tt.monotonic-tt.wall)
			if got := now.Sub(asked); got != tt.monotonic {
				t.Fatalf("monotonic %s, want %s", got, tt.monotonic)
			}
			if got := (term{asked, length}).ours(now); got != tt.ours {
				t.Errorf("ours: %t, want %t", got, tt.ours)
			}
		})
	}
}
