package storetest

import "time"

func leaseTests() []test {
	return []test{
		{"lease/one owner", leaseOne},
		{"lease/passes on when its term has ended", leaseEnds},
	}
}

func (f *fixture) lead(name, owner string, term time.Duration) bool {
	f.Helper()
	ok, err := f.Lead(f.ctx, name, owner, term)
	f.must(err)
	return ok
}

func leaseOne(f *fixture) {
	name := f.name("lease")
	for range 2 {
		if !f.lead(name, "a", time.Hour) || f.lead(name, "b", time.Hour) {
			f.Fatalf("a must have the lease, and keep it")
		}
	}
	if !f.lead(f.name("lease"), "b", time.Hour) {
		f.Errorf("another name is free")
	}
	if !f.lead(name, "a", 0) || !f.lead(name, "b", time.Hour) || f.lead(name, "a", time.Hour) {
		f.Errorf("a gave it up, b must have it")
	}
}

func leaseEnds(f *fixture) {
	name := f.name("lease")
	f.lead(name, "a", 20*time.Millisecond)
	f.until("b has the lease", func() bool { return f.lead(name, "b", time.Hour) })
	if f.lead(name, "a", time.Hour) {
		f.Errorf("a has a lease that b took")
	}
}
