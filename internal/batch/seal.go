package batch

// seal waits until something waits and seals a batch of it; false once the queue is closed.
func (q *Queue[Op, Ans]) seal() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if q.closed {
			return false
		}
		q.collect()
		if len(q.sealed) > 0 {
			return true
		}
		q.some.Wait() // the line is empty: had anyone stood in it, he would be sealed
	}
}

// collect moves what may ride together from the line into the batch. An operation whose key rides already keeps its
// place in the line, and so do all behind the first one that finds no room: whoever stands first always rides next.
func (q *Queue[Op, Ans]) collect() {
	clear(q.seen)
	kept, room := q.waiting[:0], q.cfg.MaxBytes
	for i, c := range q.waiting {
		if c.hasLeft() {
			q.recycle(c)
			continue
		}
		if q.full(c.size, room) {
			kept = append(kept, q.waiting[i:]...)
			break
		}
		if _, rides := q.seen[c.key]; rides {
			kept = append(kept, c)
			continue
		}
		if !c.seal() {
			q.recycle(c)
			continue
		}
		q.add(c)
		room -= c.size
	}
	clear(q.waiting[len(kept):])
	q.waiting = kept
}

// full tells that size more bytes have no place in the batch. An empty batch has place for anything.
func (q *Queue[Op, Ans]) full(size, room int) bool {
	return len(q.sealed) == q.cfg.MaxRows || len(q.sealed) > 0 && size > room
}

func (q *Queue[Op, Ans]) add(c *cell[Op, Ans]) {
	q.seen[c.key] = struct{}{}
	q.sealed = append(q.sealed, c)
	q.ops = append(q.ops, c.op)
}

// reset empties the batch and lets go of what was in it.
func (q *Queue[Op, Ans]) reset() {
	clear(q.sealed)
	clear(q.ops)
	q.sealed, q.ops = q.sealed[:0], q.ops[:0]
}
