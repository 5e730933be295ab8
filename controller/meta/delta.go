package meta

import "maps"

// Delta is what changed between two images. All lists are in the order of the names or ids.
type Delta struct {
	From, To       *Image
	Added          []*Topic // new names, and names whose topic is another one now (another id): those are in Removed too
	Removed        []*Topic // as they were in From
	Changed        []TopicChange
	BrokersAdded   []*Broker // new ids, and ids whose epoch rose
	BrokersRemoved []*Broker
	Controller     bool // id or epoch of the controller changed
	BrokerConfigs  bool // any dynamic broker setting changed
	Quotas         bool // any client quota changed
}

// TopicChange is one topic that stayed the same topic but changed.
type TopicChange struct {
	Old, New   *Topic
	Partitions []int32 // indexes whose state or assignment changed, the new ones included
	Config     bool
}

// Diff compares two images; from may be nil.
func Diff(from, to *Image) Delta {
	if from == nil {
		from = &Image{ControllerID: -1}
	}
	d := Delta{From: from, To: to}
	d.Controller = from.ControllerID != to.ControllerID || from.ControllerEpoch != to.ControllerEpoch
	d.BrokerConfigs = !maps.Equal(from.DefaultBrokerConfig, to.DefaultBrokerConfig) ||
		!maps.EqualFunc(from.BrokerConfigs, to.BrokerConfigs, maps.Equal[map[string]string, map[string]string])
	d.Quotas = !from.sameQuotas(to)
	d.topics()
	for _, id := range to.BrokerIDs {
		if old := from.Brokers[id]; old == nil || old.Epoch != to.Brokers[id].Epoch {
			d.BrokersAdded = append(d.BrokersAdded, to.Brokers[id])
		}
	}
	for _, id := range from.BrokerIDs {
		if to.Brokers[id] == nil {
			d.BrokersRemoved = append(d.BrokersRemoved, from.Brokers[id])
		}
	}
	return d
}

// Empty tells that nothing differs that a Delta names.
func (d *Delta) Empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed)+len(d.BrokersAdded)+len(d.BrokersRemoved) == 0 &&
		!d.Controller && !d.BrokerConfigs && !d.Quotas
}

func (d *Delta) topics() {
	for _, name := range d.To.TopicNames {
		was, is := d.From.Topics[name], d.To.Topics[name]
		switch {
		case was == nil:
			d.Added = append(d.Added, is)
		case was == is:
		case was.ID != is.ID && !was.ID.IsZero():
			d.Removed, d.Added = append(d.Removed, was), append(d.Added, is)
		default:
			if c, differs := compare(was, is); differs {
				d.Changed = append(d.Changed, c)
			}
		}
	}
	for _, name := range d.From.TopicNames {
		if d.To.Topics[name] == nil {
			d.Removed = append(d.Removed, d.From.Topics[name])
		}
	}
}

func compare(was, is *Topic) (TopicChange, bool) {
	c := TopicChange{Old: was, New: is, Config: !was.sameConfig(is)}
	for i, p := range is.Partitions {
		if i >= len(was.Partitions) || !p.equal(was.Partitions[i]) {
			c.Partitions = append(c.Partitions, p.Index)
		}
	}
	return c, c.Config || len(c.Partitions) > 0 || was.Deleting != is.Deleting || was.ID != is.ID
}
