package intents

import (
	"fmt"
	"time"
)

// Cursor is a place in the feed of all events. The zero one stands for its end.
type Cursor struct {
	Tx      int64 // the transaction that wrote the event
	Intent  int64 // its key
	Version int
	N       int
}

// String writes a cursor as ParseCursor reads it.
func (c Cursor) String() string { return fmt.Sprintf("%d-%d-%d-%d", c.Tx, c.Intent, c.Version, c.N) }

// ParseCursor reads a cursor. Errors: *InvalidError.
func ParseCursor(text string) (Cursor, error) {
	var c Cursor
	_, err := fmt.Sscanf(text, "%d-%d-%d-%d", &c.Tx, &c.Intent, &c.Version, &c.N)
	if err != nil || c.String() != text || c.Tx <= 0 || c.Intent < 0 || c.Version < 0 || c.N < 0 {
		return Cursor{}, &InvalidError{Field: "Last-Event-ID", Value: text, Want: "the id of an event of this stream"}
	}
	return c, nil
}

// CursorError says that a cursor lies behind the feed's end: the database was restored, or it is another one.
type CursorError struct{ At Cursor }

func (e *CursorError) Error() string {
	return "the database has not come as far as " + e.At.String() + ": it was restored, or it is another one; follow from now on"
}

// FeedFilter chooses events. Zero fields choose nothing away.
type FeedFilter struct {
	Route  string
	States []State // into which the intent went, or in which it was
}

// FeedEvent is an event with whose it is.
type FeedEvent struct {
	Place Cursor
	ID    string
	Route string
	Event
}

// FeedView is an event of the feed as programs read it in JSON.
type FeedView struct {
	Intent string `json:"intent"`
	Route  string `json:"route"`
	EventView
}

// FeedJSON gives the view of an event of the feed.
func FeedJSON(e FeedEvent) FeedView { return FeedView{e.ID, e.Route, EventJSON(e.Event)} }

// OpenCount counts intents that are due some day, by route and state.
type OpenCount struct {
	Route string
	State State
	N     int
	DueAt time.Time // the earliest moment at which one of them is due
}

// OpenCounts is what was counted. Cut says that there are more: it is not counted without bound.
type OpenCounts struct {
	Counts []OpenCount
	Cut    bool
	Total  int64 // of all intents, as the server estimates it
}
