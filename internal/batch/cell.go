package batch

import "sync/atomic"

// cell carries one operation to the queue and its answer back. It belongs to the queue from enter on; to its caller
// again once the caller has the answer. The cell of a caller who left stays with the queue.
type cell[Op, Ans any] struct {
	op    Op
	key   string
	size  int
	state atomic.Int32     // waiting, sealed or left
	done  chan Answer[Ans] // room for one, so that the queue never waits for a caller
}

const (
	waiting int32 = iota
	sealed
	left
)

// seal takes the operation into a batch; false if its caller left before.
func (c *cell[Op, Ans]) seal() bool { return c.state.CompareAndSwap(waiting, sealed) }

// leave takes the operation back; false if it is sealed, and then the answer will come.
func (c *cell[Op, Ans]) leave() bool { return c.state.CompareAndSwap(waiting, left) }

func (c *cell[Op, Ans]) hasLeft() bool { return c.state.Load() == left }

func newCell[Op, Ans any]() *cell[Op, Ans] {
	return &cell[Op, Ans]{done: make(chan Answer[Ans], 1)}
}

func (q *Queue[Op, Ans]) newCell(op Op) *cell[Op, Ans] {
	key, size := q.key(op), 0
	if q.size != nil {
		size = max(0, q.size(op))
	}
	c := q.cells.Get().(*cell[Op, Ans])
	c.op, c.key, c.size = op, key, size
	return c
}

// recycle is for who holds the cell last.
func (q *Queue[Op, Ans]) recycle(c *cell[Op, Ans]) {
	var none Op
	c.op, c.key = none, ""
	c.state.Store(waiting)
	q.cells.Put(c)
}
