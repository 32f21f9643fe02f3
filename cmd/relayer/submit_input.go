package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	maxWhole = 64 << 20 // bytes: shorter input is checked before anything is sent
	maxShown = 20       // bad lines that are shown when nothing is sent
)

// checker makes an intent one of its route, or says why it can be none.
type checker func(intents.Intent) (intents.Intent, error)

// order is an intent to store, with its line; 0 when it came from flags.
type order struct {
	line int
	in   intents.Intent
}

// input is what is to be submitted.
type input struct {
	orders iter.Seq2[order, error] // errors are *lineError, or of reading
	total  int                     // -1: not known
	bad    int                     // lines left out
	file   io.Closer               // nil: read to its end
}

func (in input) close() {
	if in.file != nil {
		_ = in.file.Close() // it was only read
	}
}

func one(in intents.Intent) input { return whole([]order{{in: in}}, 0) }

func whole(orders []order, bad int) input {
	return input{total: len(orders), bad: bad, orders: func(yield func(order, error) bool) {
		for _, o := range orders {
			if !yield(o, nil) {
				return
			}
		}
	}}
}

// lineError is what is wrong with a line of the input.
type lineError struct {
	line int
	err  error
}

// Error says it, and the line with everything that is wrong in it.
func (e *lineError) Error() string {
	at := fmt.Sprintf("line %d: ", e.line)
	return at + strings.ReplaceAll(e.err.Error(), "\n", "\n"+at)
}

func (e *lineError) Unwrap() error { return e.err }

// at gives an error its line; one of an intent from flags has none.
func (o order) at(err error) error {
	if o.line == 0 {
		return fmt.Errorf("%s: %w", o.in.ID, err)
	}
	return &lineError{o.line, err}
}

// readInput reads NDJSON. Below most bytes it is checked here: unless bad lines are skipped, one of them stops all.
// Longer input is read while it is sent; r is closed with what this returns, or here.
func readInput(r io.ReadCloser, most int, check checker, skipBad bool, complain func(string)) (input, error) {
	head, err := io.ReadAll(io.LimitReader(r, int64(most)))
	if err != nil {
		_ = r.Close()
		return input{}, fmt.Errorf("read input: %w", err)
	}
	if len(head) == most {
		complain(fmt.Sprintf("input of %d MiB and more is sent as it is read", most>>20))
		return input{orders: readOrders(io.MultiReader(bytes.NewReader(head), r), check), total: -1, file: r}, nil
	}
	_ = r.Close() // it was only read
	var orders []order
	bad := 0
	for o, err := range readOrders(bytes.NewReader(head), check) {
		if err == nil {
			orders = append(orders, o)
			continue
		}
		if bad++; bad <= maxShown {
			complain(err.Error())
		}
	}
	return judge(orders, bad, skipBad, complain)
}

func judge(orders []order, bad int, skipBad bool, complain func(string)) (input, error) {
	if bad > maxShown {
		complain(fmt.Sprintf("… and %d more", bad-maxShown))
	}
	switch {
	case bad > 0 && !skipBad:
		return input{}, usagef("nothing was sent: %d of %d lines are bad (--skip-bad sends the others)", bad, bad+len(orders))
	case len(orders)+bad == 0:
		return input{}, usagef("nothing to submit: the input is empty")
	}
	return whole(orders, bad), nil
}

// readOrders yields the intents of an NDJSON stream, or *lineError. Empty lines are left out.
func readOrders(r io.Reader, check checker) iter.Seq2[order, error] {
	return func(yield func(order, error) bool) {
		br := bufio.NewReaderSize(r, 64<<10)
		for n := 1; ; n++ {
			text, err := readLine(br)
			if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0) {
				if !errors.Is(err, io.EOF) {
					yield(order{}, fmt.Errorf("read input: %w", err))
				}
				return
			}
			if text = bytes.TrimSpace(text); len(text) == 0 {
				continue
			}
			in, err := readOrder(text, check)
			if err != nil {
				err = &lineError{n, err}
			}
			if !yield(order{n, in}, err) {
				return
			}
		}
	}
}

func readOrder(text []byte, check checker) (intents.Intent, error) {
	m, err := intents.Decode(text)
	if err != nil {
		return intents.Intent{}, err
	}
	if !m.Full {
		return intents.Intent{}, &intents.InvalidError{Field: "intent_id", Value: m.ID, Want: "a full intent, with an id; a reference creates nothing"}
	}
	return check(m.Intent)
}

// readLine reads a line. Of one that is longer than any body it keeps just enough to be refused for its length.
func readLine(br *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := br.ReadSlice('\n')
		if room := intents.MaxBody + 2 - len(text); room > 0 {
			text = append(text, part[:min(room, len(part))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return slices.Clip(text), err
		}
	}
}
