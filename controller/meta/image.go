package meta

// Image is one state of the cluster. Nothing in it changes after it has been published: whoever wants another
// state makes another image with a Builder, which shares what stayed the same.
type Image struct {
	Version             uint64 // grows by one with every published image of this process
	ClusterID           string
	ControllerID        int32 // -1 while none is known
	ControllerEpoch     int32
	Brokers             map[int32]*Broker // the live ones
	Topics              map[string]*Topic
	ByID                map[ID]*Topic
	TopicNames          []string // sorted
	BrokerConfigs       map[int32]map[string]string
	DefaultBrokerConfig map[string]string
	BrokerIDs           []int32 // sorted
	// Quotas are the client quotas that are set, as text.
	Quotas map[QuotaEntity]map[string]string
}

// Topic returns a topic by name or nil.
func (m *Image) Topic(name string) *Topic { return m.Topics[name] }

// Partition returns a partition or nil.
func (m *Image) Partition(topic string, i int32) *Partition {
	t := m.Topics[topic]
	if t == nil {
		return nil
	}
	return t.Partition(i)
}

// Broker returns a live broker or nil.
func (m *Image) Broker(id int32) *Broker { return m.Brokers[id] }

// PartitionCount counts the partitions of all topics.
func (m *Image) PartitionCount() int {
	n := 0
	for _, t := range m.Topics {
		n += len(t.Partitions)
	}
	return n
}
