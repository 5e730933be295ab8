package logstore

// What the offline tools need to know of the files, under names that they may use.

// CheckpointFiles are the four offset checkpoints of a log directory.
func CheckpointFiles() []string { return []string{recoveryFile, highFile, startFile, cleanerFile} }

// Names of files that the offline tools read or replace.
const (
	RecoveryFile  = recoveryFile
	HighFile      = highFile
	StartFile     = startFile
	CleanerFile   = cleanerFile
	CleanFile     = cleanFile
	LockFile      = lockFile
	MetaFile      = metaFile
	EpochFile     = epochFile
	PartitionFile = partitionFile
)

// EpochStart says that a leader epoch's first record is at Start.
type EpochStart = epochStart

// DecodeOffsets reads a checkpoint of offsets by partition.
func DecodeOffsets(b []byte) (map[TopicPartition]int64, error) { return decodeOffsets(b) }

// EncodeOffsets writes a checkpoint of offsets by partition.
func EncodeOffsets(m map[TopicPartition]int64) []byte { return encodeOffsets(m) }

// DecodeEpochs reads leader-epoch-checkpoint.
func DecodeEpochs(b []byte) ([]EpochStart, error) { return decodeEpochs(b) }

// EncodeEpochs writes leader-epoch-checkpoint.
func EncodeEpochs(list []EpochStart) []byte { return encodeEpochs(list) }

// DecodePartition reads the topic's id from partition.metadata.
func DecodePartition(b []byte) (id [16]byte, err error) { return decodePartition(b) }

// DecodeMeta reads meta.properties.
func DecodeMeta(b []byte) (Meta, error) { return decodeMeta(b) }

// DecodeTxnIndex reads a transaction index.
func DecodeTxnIndex(b []byte) ([]AbortedTxn, error) { return decodeTxnIndex(b) }

// ParsePartitionDir reads topic-partition from the name of a directory.
func ParsePartitionDir(name string) (TopicPartition, bool) { return parsePartitionDir(name) }

// ParseFileName takes the name of a segment's file apart; ok is false for any other file.
func ParseFileName(name string) (base int64, suffix string, ok bool) { return parseFileName(name) }

// FileName is Kafka's name for an offset.
func FileName(offset int64, suffix string) string { return fileName(offset, suffix) }
