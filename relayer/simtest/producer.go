package simtest

import "github.com/nsqrelayer/relayer/intents"

// produce brings a payment in.
func (s *sim) produce(p *payment) {
	if p.how == full {
		s.publishAgain(p)
		return
	}
	_, err := s.db.Create(s.ctx(), p.in, p.how != waiting, "producer")
	s.note("%s is stored: %s", p.in.ID, brief(err))
	s.db.wrote("create")
	if p.how == submitted {
		s.publishAgain(p)
	}
}

// publishAgain publishes a payment as its producer does.
func (s *sim) publishAgain(p *payment) {
	body, err := intents.EncodeReference(p.in.ID)
	if p.how == full {
		body, err = intents.Encode(p.in)
	}
	if err != nil {
		panic(err) // the payment is ours
	}
	m := s.queue.publish(body)
	s.note("%s is published: %s", m.id, body)
}
