package broker

import (
	"slices"
	"testing"

	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/reactor"
)

func loaded(t *testing.T, keys map[string]string) *config.Broker {
	t.Helper()
	keys["log.dirs"] = t.TempDir()
	c, _, err := config.Load(nil, keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// With nothing set everything is as it was before there were keys; each key turns its own option.
func TestKnobsFillTheirOptions(t *testing.T) {
	var o reactor.Options
	c := loaded(t, map[string]string{})
	ringKnobs(c, &o)
	socketKnobs(c, &o.Net)
	if d := o.Disk; d.NoDeferTaskrun || d.IOWorkers != 0 || d.IOWorkersUnbounded != 0 || d.IOWorkerCPUs != nil || d.SQPoll || o.FixedBuffers || o.WorkersOnShard ||
		o.Net.SendPath != netpoll.SendFile || o.Net.Cork != netpoll.CorkAuto || o.Net.QuickAck != netpoll.QuickAckKernel || socketOptions(c).Nagle {
		t.Errorf("the defaults are %+v, %+v", o.Disk, o.Net)
	}
	c = loaded(t, map[string]string{"pelton.uring.defer.taskrun": "false", "pelton.uring.iowq.bounded.max": "3", "pelton.uring.iowq.unbounded.max": "4",
		"pelton.uring.iowq.affinity": "0,2-3", "pelton.uring.sqpoll": "true", "pelton.uring.fixed.buffers": "true", "pelton.send.path": "copy",
		"pelton.socket.cork": "never", "pelton.socket.quickack": "off", "pelton.socket.nodelay": "false"})
	ringKnobs(c, &o)
	socketKnobs(c, &o.Net)
	if d := o.Disk; !d.NoDeferTaskrun || d.IOWorkers != 3 || d.IOWorkersUnbounded != 4 || !slices.Equal(d.IOWorkerCPUs, []int{0, 2, 3}) || !d.SQPoll || !o.FixedBuffers ||
		o.WorkersOnShard || o.Net.SendPath != netpoll.SendCopy || o.Net.Cork != netpoll.CorkNever || o.Net.QuickAck != netpoll.QuickAckOff || !socketOptions(c).Nagle {
		t.Errorf("the keys fill in %+v, %+v", o.Disk, o.Net)
	}
	ringKnobs(loaded(t, map[string]string{"pelton.uring.iowq.affinity": "shard"}), &o)
	if !o.WorkersOnShard || o.Disk.IOWorkerCPUs != nil {
		t.Error("kernel workers do not follow their shard")
	}
	for _, text := range []string{"x", "1-", "3-2", "-1", "1,,2", "99999999999"} {
		if list, err := cpuList(text); err == nil {
			t.Errorf("%q is a list of CPUs: %v", text, list)
		}
	}
}
