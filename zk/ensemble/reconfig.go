package ensemble

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"

	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

// configPath is the node that shows the members.
const configPath = "/zookeeper/config"

// firstConfigVersion is what a configuration that was never changed has: that of the first epoch, as in ZooKeeper.
const firstConfigVersion = 1 << 32

// seedConfig shows the configuration file's servers until a reconfig has said otherwise.
func (c *Core) seedConfig() {
	c.Tree.EnsureConfig()
	n := c.Tree.Get(configPath)
	if n == nil {
		return
	}
	if _, version, err := ParseConfigText(string(n.Data)); err != nil || version <= firstConfigVersion {
		n.Data = []byte(ConfigText(c.o.Servers, firstConfigVersion))
	}
}

// readBook notes who is reached where: by the file, and by what the ensemble has agreed on.
func (c *Core) readBook() {
	c.book = map[uint64]Server{}
	for _, s := range c.o.Servers {
		c.book[raftID(s.ID)] = s
	}
	for _, s := range c.servers() {
		c.book[raftID(s.ID)] = s
	}
	c.removed = len(c.conf.GetVoters()) > 0 && !c.isMember(c.o.ID)
	c.bookChanged = true
}

// servers are the members as the tree shows them.
func (c *Core) servers() []Server {
	n := c.Tree.Get(configPath)
	if n == nil {
		return nil
	}
	list, _, err := ParseConfigText(string(n.Data))
	if err != nil {
		return nil
	}
	return list
}

func (c *Core) configVersion() int64 {
	if n := c.Tree.Get(configPath); n != nil {
		if _, v, err := ParseConfigText(string(n.Data)); err == nil {
			return v
		}
	}
	return 0
}

// dropStrangers forgets whoever is no member any more.
func (c *Core) dropStrangers() {
	for to := range c.outflows {
		if !c.isMember(to) {
			delete(c.outflows, to)
		}
	}
	if c.removed {
		c.log.Warn("zk ensemble: this server is no member any more")
		c.lost()
		c.setServing(false)
	}
}

// orderReconfig checks a change of members as ZooKeeper does and gives it its place.
func (c *Core) orderReconfig(from uint64, gen, n int64, req *Request) {
	x := c.newTxn(req.Session, req.Xid)
	next, code := c.nextServers(req, x.Zxid)
	if code == jute.OK && !c.owns(from, req.Session) {
		code = jute.SessionMoved
	}
	if code == jute.OK && c.gone(req.Session) {
		code = jute.SessionExpired
	}
	if code != jute.OK {
		tree.Refuse(x, code)
		c.place(from, gen, n, x)
		return
	}
	x.Op, x.Path, x.Version = jute.OpReconfig, configPath, -1
	x.Data = []byte(ConfigText(next, x.Zxid))
	changes := c.changes(next)
	if len(changes) == 0 {
		c.place(from, gen, n, x)
		return
	}
	c.propose()
	cc := &pb.ConfChangeV2{Changes: changes, Context: appendOrdered(nil, from, gen, n, x)}
	if !c.ready {
		return // propose has ended the lead
	}
	if err := c.raft.ProposeConfChange(cc); err != nil {
		c.stepDown()
		return
	}
	c.reconfig = c.lastProposed()
}

// lastProposed is the index of the newest entry of raft's log.
func (c *Core) lastProposed() uint64 {
	last := uint64(0)
	c.raft.WithProgress(func(id uint64, _ raft.ProgressType, pr tracker.Progress) {
		if id == c.o.ID {
			last = pr.Next - 1
		}
	})
	return max(last, c.applied+1)
}

// nextServers is the configuration that a request asks for.
func (c *Core) nextServers(req *Request, zxid int64) ([]Server, jute.Code) {
	r := jute.NewReader(req.Body)
	joining, noJoining := r.Text()
	leaving, noLeaving := r.Text()
	members, noMembers := r.Text()
	version := r.Long()
	switch {
	case r.Err() != nil:
		return nil, jute.MarshallingError
	case !c.o.ReconfigEnabled:
		return nil, jute.ReconfigDisabled
	case c.reconfig != 0:
		return nil, jute.ReconfigInProgress
	case version != -1 && version != c.configVersion():
		return nil, jute.BadVersion
	}
	var next []Server
	var err error
	if !noMembers && members != "" {
		next, _, err = ParseConfigText(strings.ReplaceAll(members, ",", "\n"))
	} else {
		next, err = changeServers(c.servers(), joining, noJoining, leaving, noLeaving)
	}
	if err == nil {
		err = checkServers(next)
	}
	if err != nil {
		c.log.Info("zk ensemble: reconfig refused", "err", err)
		return nil, jute.BadArguments
	}
	voters := map[uint64]bool{}
	for _, s := range next {
		if !s.Observer {
			voters[raftID(s.ID)] = true
		}
	}
	if !c.o.StandaloneOff && len(voters) < 2 {
		return nil, jute.BadArguments
	}
	if !c.quorumActive(voters) {
		return nil, jute.NewConfigNoQuorum
	}
	node := c.Tree.Get(configPath)
	if node == nil || !c.o.SkipACL && !tree.Allowed(c.Tree.ACLOf(node), jute.PermWrite, req.IDs) {
		return nil, jute.NoAuth
	}
	return next, jute.OK
}

// changeServers takes servers out and puts servers in.
func changeServers(now []Server, joining string, noJoining bool, leaving string, noLeaving bool) ([]Server, error) {
	set := map[uint64]Server{}
	for _, s := range now {
		set[s.ID] = s
	}
	if !noLeaving && leaving != "" {
		for _, text := range strings.Split(leaving, ",") {
			id, err := ServerID(text)
			if err != nil {
				return nil, err
			}
			delete(set, id)
		}
	}
	if !noJoining && joining != "" {
		for _, text := range strings.Split(joining, ",") {
			key, value, _ := strings.Cut(text, "=")
			id, err := ServerID(key)
			if err != nil {
				return nil, err
			}
			s, err := ParseServer(id, value)
			if err != nil {
				return nil, err
			}
			if s.Client == "" {
				return nil, fmt.Errorf("%w: %s: each server needs three ports", ErrConfig, text)
			}
			set[id] = s
		}
	}
	return slices.Collect(maps.Values(set)), nil
}

// quorumActive says whether a majority of the voters to be follows this leader now.
func (c *Core) quorumActive(voters map[uint64]bool) bool {
	active := 0
	last := c.lastIndex()
	c.raft.WithProgress(func(id uint64, _ raft.ProgressType, pr tracker.Progress) {
		// A leader that has just begun goes by what was confirmed to it: it has had no time to miss anybody.
		heard := c.heard(id) || c.nowMs-c.readyMs <= c.hearMs() && pr.Match > 0
		if voters[id] && heard && (id == c.o.ID || pr.Match+syncedWithin >= last) {
			active++
		}
	})
	return active > len(voters)/2
}

// changes are raft's steps from the members of now to next.
func (c *Core) changes(next []Server) []*pb.ConfChangeSingle {
	var out []*pb.ConfChangeSingle
	add := func(kind pb.ConfChangeType, id uint64) {
		out = append(out, &pb.ConfChangeSingle{Type: kind.Enum(), NodeId: proto.Uint64(id)})
	}
	want := map[uint64]bool{}
	for _, s := range next {
		id := raftID(s.ID)
		want[id] = true
		voter := slices.Contains(c.conf.GetVoters(), id)
		switch {
		case s.Observer && !c.isLearner(id):
			add(pb.ConfChangeAddLearnerNode, id)
		case !s.Observer && !voter:
			add(pb.ConfChangeAddNode, id)
		}
	}
	for _, id := range append(slices.Clone(c.conf.GetVoters()), c.conf.GetLearners()...) {
		switch {
		case want[id]:
		case c.silent(id):
			add(pb.ConfChangeRemoveNode, id)
		case !c.isLearner(id):
			// Who is taken out and lives goes on without a vote, so that its clients need not notice; dismiss ends it.
			add(pb.ConfChangeAddLearnerNode, id)
		}
	}
	return out
}

// dismiss takes out for good whoever was taken out of the configuration and is not heard of any more.
func (c *Core) dismiss() {
	if c.reconfig != 0 || len(c.conf.GetVotersOutgoing()) > 0 {
		return
	}
	listed := map[uint64]bool{}
	for _, s := range c.servers() {
		listed[raftID(s.ID)] = true
	}
	for _, id := range c.conf.GetLearners() {
		if listed[id] || c.heard(id) || c.lags[id] == nil || c.nowMs-c.lags[id].sinceMs < c.o.SyncLimitMs {
			continue
		}
		c.propose()
		cc := &pb.ConfChangeV2{Changes: []*pb.ConfChangeSingle{{Type: pb.ConfChangeRemoveNode.Enum(), NodeId: proto.Uint64(id)}}}
		if c.ready && c.raft.ProposeConfChange(cc) == nil {
			c.reconfig = c.lastProposed()
		}
		return
	}
}
