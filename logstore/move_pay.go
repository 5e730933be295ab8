package logstore

import "sync"

// moveDebt is what all moves together have copied and not waited for yet.
type moveDebt struct {
	sync.Mutex
	owed float64
	at   int64 // monotonic time of the last payment
}

// payMove waits as the rate of moves demands for n bytes. A rate that changes meanwhile holds at once.
func (m *Manager) payMove(n int64, stop func() bool) {
	m.debt.Lock()
	m.debt.owed += float64(n)
	m.debt.Unlock()
	for !stop() {
		nap := m.debt.pay(m.opt.Clock.Mono(), m.moveRate.Load())
		if nap <= 0 || m.opt.Pause == nil {
			return
		}
		m.opt.Pause(nap)
	}
}

// pay takes off what the time since the last call has earned, and tells how long to wait before the next.
func (d *moveDebt) pay(now, rate int64) (nap int64) {
	d.Lock()
	defer d.Unlock()
	if rate <= 0 || float64(rate) >= noRate {
		d.owed, d.at = 0, now
		return 0
	}
	earned := float64(now-d.at) * float64(rate) / 1e9
	d.at = now
	if earned >= d.owed {
		d.owed = 0
		return 0
	}
	d.owed -= earned
	return min(int64(d.owed/float64(rate)*1e9)+1, longestNap)
}
