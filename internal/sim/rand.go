package sim

// Rand is the one source of chance: splitmix64 from a seed.
type Rand struct{ state uint64 }

// NewRand begins a sequence.
func NewRand(seed uint64) *Rand { return &Rand{state: seed*0x9e3779b97f4a7c15 + 0x1234567} }

// Uint64 is the next number.
func (r *Rand) Uint64() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Intn is in [0, n); 0 for n below 1.
func (r *Rand) Intn(n int) int {
	if n <= 1 {
		return 0
	}
	return int(r.Uint64() % uint64(n))
}

// Between is in [low, high].
func (r *Rand) Between(low, high int) int { return low + r.Intn(high-low+1) }

// Percent is true in p of 100 cases.
func (r *Rand) Percent(p int) bool { return r.Intn(100) < p }

// Of picks one.
func (r *Rand) Of(of ...int) int { return of[r.Intn(len(of))] }
