package run

import "strconv"

// Every znode of ours. Paths are below the chroot.
const (
	pathBrokerIDs      = "/brokers/ids"
	pathBrokerSeqID    = "/brokers/seqid"
	pathTopics         = "/brokers/topics"
	pathClusterID      = "/cluster/id"
	pathController     = "/controller"
	pathEpoch          = "/controller_epoch"
	pathFeature        = "/feature"
	pathDeletions      = "/admin/delete_topics"
	pathPreferred      = "/admin/preferred_replica_election"
	pathReassign       = "/admin/reassign_partitions"
	pathConfigChanges  = "/config/changes"
	pathConfigTopics   = "/config/topics"
	pathConfigBrokers  = "/config/brokers"
	pathConfigUsers    = "/config/users"
	pathProducerIDs    = "/latest_producer_id_block"
	pathISRChanges     = "/isr_change_notification"
	pathLogDirEvents   = "/log_dir_event_notification"
	changePrefix       = "config_change_"
	defaultBrokerEntry = "<default>"
)

// rootPaths are made at every start, in Kafka's order and with null data.
func rootPaths() []string {
	return []string{
		"/consumers", pathBrokerIDs, pathTopics, pathConfigChanges, pathDeletions, pathBrokerSeqID, pathISRChanges,
		pathProducerIDs, pathLogDirEvents, pathConfigTopics, "/config/clients", "/config/users", pathConfigBrokers, "/config/ips",
	}
}

func pathConsumerOffset(group, topic string, partition int32) string {
	return "/consumers/" + group + "/offsets/" + topic + "/" + strconv.Itoa(int(partition))
}

func pathBroker(id int32) string { return pathBrokerIDs + "/" + strconv.Itoa(int(id)) }

func pathTopic(name string) string { return pathTopics + "/" + name }

func pathPartitions(name string) string { return pathTopics + "/" + name + "/partitions" }

func pathPartition(name string, i int32) string {
	return pathPartitions(name) + "/" + strconv.Itoa(int(i))
}

func pathState(name string, i int32) string { return pathPartition(name, i) + "/state" }

func pathDeletion(name string) string { return pathDeletions + "/" + name }

func pathTopicConfig(name string) string { return pathConfigTopics + "/" + name }

func brokerEntry(id *int32) string {
	if id == nil {
		return defaultBrokerEntry
	}
	return strconv.Itoa(int(*id))
}

func pathBrokerConfig(id *int32) string { return pathConfigBrokers + "/" + brokerEntry(id) }
