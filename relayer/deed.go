package relayer

import "context"

// deed is something to be done with a permit.
type deed func(context.Context, *Permit) error

// apart does something with a permit of its own. A panic is an error of this slot alone.
func (o *Observer) apart(ctx context.Context, do deed) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v}
		}
	}()
	p, err := o.throttle.AcquireRead(ctx, 1)
	if err != nil {
		return err
	}
	defer p.Done()
	return do(ctx, p)
}
