package ensemble

import (
	"encoding/binary"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

// orderedHead is the size of what stands before a transaction in an entry.
const orderedHead = 24

// applyEntries carries out what raft has committed.
func (c *Core) applyEntries(entries []*pb.Entry) {
	for _, e := range entries {
		if e.GetIndex() != c.applied+1 {
			invariant.Broken("zk/ensemble: entries applied out of order", c.applied, e.GetIndex())
		}
		c.applied = e.GetIndex()
		switch e.GetType() {
		case pb.EntryNormal:
			if len(e.GetData()) > 0 {
				c.apply(e.GetData())
			}
		case pb.EntryConfChangeV2, pb.EntryConfChange:
			c.applyConf(e)
		}
		if c.leading && !c.ready && e.GetTerm() == c.term {
			c.takeLead()
		}
	}
	c.finishReads()
	c.store.compact()
}

// apply carries out one transaction and answers whoever waits for it here.
func (c *Core) apply(data []byte) {
	if secret := secretIn(data); secret != nil {
		c.takeSecret(secret)
		return
	}
	if len(data) < orderedHead {
		invariant.Broken("zk/ensemble: a committed entry is no transaction", len(data))
	}
	from, gen, n := binary.BigEndian.Uint64(data), int64(binary.BigEndian.Uint64(data[8:])), int64(binary.BigEndian.Uint64(data[16:]))
	x, _, err := tree.ParseTxn(data[orderedHead:])
	if err != nil {
		invariant.Broken("zk/ensemble: a committed entry is no transaction", err)
	}
	if x.Zxid <= c.Tree.Zxid {
		return // the tree came from files that were ahead of the raft log's beginning
	}
	if from != c.o.ID || gen != c.requests.gen {
		n = 0
	} else {
		c.answered(n)
	}
	if x.Op == jute.OpCreateSession {
		delete(c.unborn, x.Session)
		c.Sessions.Add(x.Session, x.TimeoutMs, c.nowMs)
	}
	c.Tree.Apply(x, &c.result)
	if c.prep != nil {
		c.prep.Committed(x.Zxid)
	}
	c.sink.Applied(x, &c.result, n)
	c.Tree.TakeEvents()
	if x.Op == jute.OpCloseSession {
		c.Sessions.Remove(x.Session)
		delete(c.owners, x.Session)
		delete(c.touched, x.Session)
	}
}

// applyConf carries out a change of members and the transaction that goes with it.
func (c *Core) applyConf(e *pb.Entry) {
	var cc pb.ConfChangeV2
	if err := proto.Unmarshal(e.GetData(), &cc); err != nil {
		invariant.Broken("zk/ensemble: a committed change of members cannot be read", err)
	}
	c.conf = c.raft.ApplyConfChange(&cc)
	if len(cc.GetContext()) > 0 {
		c.apply(cc.GetContext())
	}
	if c.reconfig != 0 && c.applied >= c.reconfig && len(c.conf.GetVotersOutgoing()) == 0 {
		c.reconfig = 0
	}
	was := c.removed
	c.readBook()
	c.dropStrangers()
	if was && !c.removed {
		c.join()
	}
}

func (c *Core) isLearner(id uint64) bool {
	for _, l := range c.conf.GetLearners() {
		if l == id {
			return true
		}
	}
	return false
}

// isMember says whether id takes part in any way.
func (c *Core) isMember(id uint64) bool {
	for _, list := range [][]uint64{c.conf.GetVoters(), c.conf.GetVotersOutgoing(), c.conf.GetLearners(), c.conf.GetLearnersNext()} {
		for _, m := range list {
			if m == id {
				return true
			}
		}
	}
	return false
}
