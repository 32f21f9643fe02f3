package relayer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsqrelayer/relayer/relayer"
)

// At two a second the first passes, and each further one waits its half
// second, however late it comes to stand in line. The bubble has a clock of
// its own: an Example has no testing.T, and the bubble needs one only to fail.
func ExampleThrottle() {
	synctest.Test(new(testing.T), func(*testing.T) {
		throttle := relayer.NewThrottle(relayer.ThrottleConfig{PerSecond: 2, Burst: 1, InFlight: 1})
		start := time.Now()
		for n := range 4 {
			began := time.Now()
			permit, err := throttle.Acquire(context.Background(), 1)
			if err != nil {
				fmt.Println(err)
				return
			}
			wait := "no wait"
			if waited := time.Since(began); waited > 0 {
				wait = fmt.Sprintf("waited %v", waited)
			}
			fmt.Printf("acquire #%d  t+%-8v%s\n", n+1, began.Sub(start), wait)
			permit.Report(true) // the send would be here
			permit.Done()
		}
	})
	// Output:
	// acquire #1  t+0s      no wait
	// acquire #2  t+0s      waited 500ms
	// acquire #3  t+500ms   waited 500ms
	// acquire #4  t+1s      waited 500ms
}
