package quota

// Windows say how a rate is sampled: Num windows of Ms milliseconds each.
type Windows struct {
	Num int
	Ms  int64
}

// sample is what was recorded in one window.
type sample struct {
	startMs, lastMs int64
	value           float64
}

// Rate measures what was recorded over the last windows, per second. The arithmetic is Kafka's of 3.9, to the last step: one window more
// than configured is kept, a window begins with the first event after the last one was full, and a rate over less time than all windows
// but one counts as if that much time had passed. The zero value is ready.
type Rate struct {
	samples []sample
	current int
}

// Record adds a value, which may be below zero to take one back.
func (r *Rate) Record(w Windows, value float64, nowMs int64) {
	s := r.at(nowMs)
	if nowMs-s.startMs >= w.Ms {
		s = r.advance(w, nowMs)
	}
	s.value += value
	s.lastMs = nowMs
}

func (r *Rate) at(nowMs int64) *sample {
	if len(r.samples) == 0 {
		r.samples = append(r.samples, sample{startMs: nowMs, lastMs: nowMs})
	}
	return &r.samples[r.current]
}

func (r *Rate) advance(w Windows, nowMs int64) *sample {
	r.current = (r.current + 1) % (w.Num + 1)
	fresh := sample{startMs: nowMs, lastMs: nowMs}
	if r.current >= len(r.samples) {
		r.current = len(r.samples) // smaller than it was with fewer windows
		r.samples = append(r.samples, fresh)
	} else {
		r.samples[r.current] = fresh
	}
	return &r.samples[r.current]
}

// PerSecond is the rate at nowMs.
func (r *Rate) PerSecond(w Windows, nowMs int64) float64 {
	span := r.span(w, nowMs) // first: it drops what is too old
	sum := 0.0
	for i := range r.samples {
		sum += r.samples[i].value
	}
	return sum / (float64(span) / 1000)
}

// span is the time in milliseconds that the rate at nowMs is taken over.
func (r *Rate) span(w Windows, nowMs int64) int64 {
	for i := range r.samples {
		if s := &r.samples[i]; nowMs-s.lastMs >= int64(w.Num)*w.Ms {
			*s = sample{startMs: nowMs, lastMs: nowMs}
		}
	}
	oldest := r.at(nowMs).startMs
	for i := range r.samples {
		oldest = min(oldest, r.samples[i].startMs)
	}
	elapsed := nowMs - oldest
	if full := elapsed / w.Ms; full < int64(w.Num-1) {
		elapsed += (int64(w.Num-1) - full) * w.Ms
	}
	return max(elapsed, 1)
}

// Wait is how many milliseconds bring the rate down to bound; 0 when it is not above.
func (r *Rate) Wait(w Windows, bound float64, nowMs int64) int64 {
	rate := r.PerSecond(w, nowMs)
	if rate <= bound {
		return 0
	}
	return round((rate - bound) / bound * float64(r.span(w, nowMs)))
}
