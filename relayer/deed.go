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
	p, err := o.throttle.read(ctx, o.price())
	if err != nil {
		return err
	}
	defer p.Done()
	return do(ctx, p)
}

// price is what the observer's own sends take from the share for reads. Where units are counted it is what a send costs.
func (o *Observer) price() int {
	if o.cfg.Metered {
		return o.cfg.Weight
	}
	return 1
}

// reading gets a permit for one question, unless the sender has its calls charged itself. by hears of refusals.
func (o *Observer) reading(ctx context.Context) (by calmer, done func(), err error) {
	if o.cfg.Metered {
		return o.throttle, func() {}, nil
	}
	p, err := o.throttle.AcquireRead(ctx, 1)
	if err != nil {
		return nil, nil, err
	}
	return p, p.Done, nil
}
