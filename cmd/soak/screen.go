package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	lookEvery  = time.Second      // progress on a terminal
	linesEvery = 10 * time.Second // elsewhere
)

// screen prints lines, and on a terminal a last one that is rewritten.
type screen struct {
	out   io.Writer
	term  bool
	began time.Time

	mu   sync.Mutex
	live string // the line that is rewritten
	last time.Time
}

func newScreen(f *os.File) *screen {
	return &screen{out: f, term: term.IsTerminal(int(f.Fd())), began: time.Now()}
}

// say prints a line.
func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	fmt.Fprintf(s.out, format+"\n", args...)
	fmt.Fprint(s.out, s.live)
}

// clear takes the line that is rewritten away.
func (s *screen) clear() {
	if s.live != "" {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
}

// broke prints a fault.
func (s *screen) broke(f fault) { s.say("  %s  %v", time.Now().Format("15:04:05.0"), f) }

// progress shows how far it is: in place on a terminal, elsewhere now and then.
func (s *screen) progress(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text = fmt.Sprintf("%6s  %s", time.Since(s.began).Truncate(time.Second), text)
	switch {
	case s.term:
		s.clear()
		s.live = text
		fmt.Fprint(s.out, text)
	case time.Since(s.last) >= linesEvery:
		s.last = time.Now()
		fmt.Fprintln(s.out, text)
	}
}

// still ends the line that is rewritten.
func (s *screen) still() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.live = ""
}

// wrap breaks a list at its commas into lines that begin with blanks.
func wrap(list, blanks string) string {
	const width = 100
	var b strings.Builder
	at := 0
	for word := range strings.SplitSeq(list, ", ") {
		switch {
		case at+len(word) > width && b.Len() > 0:
			b.WriteString(",\n" + blanks)
			at = 0
		case b.Len() > 0:
			b.WriteString(", ")
		}
		b.WriteString(word)
		at += len(word) + 2
	}
	return b.String()
}
