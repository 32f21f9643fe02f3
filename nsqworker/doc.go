// Package nsqworker takes messages from one NSQ channel and hands them to a Handler, and publishes to NSQ.
//
// NSQ hands out work and knows no truth: a message may come twice, at once, late, or be held by somebody else without a
// word to us. This package keeps the promises NSQ can be held to. A message is touched from its receipt, however long it
// waits for a goroutine. A handler is told when its message is no longer its own. One that returns after that answers
// nothing, because nsqd would take the answer for the next delivery: ownership is per connection (nsqd, channel.go).
// Stopping takes nothing more, lets handlers finish, and cuts them at a deadline of its own.
package nsqworker
