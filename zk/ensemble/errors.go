package ensemble

import "errors"

var (
	// ErrMessage is returned for a message that no member in its right mind sends.
	ErrMessage = errors.New("zk/ensemble: unacceptable message")
	// ErrConfig is returned when the server lines do not make an ensemble.
	ErrConfig = errors.New("zk/ensemble: configuration")
	// ErrMyID is returned when the file myid is missing or names no server of the configuration.
	ErrMyID = errors.New("zk/ensemble: myid")
	// ErrKey is returned when the key of the ensemble cannot be read or is too short.
	ErrKey = errors.New("zk/ensemble: key")
	// ErrCorrupt is returned for damage in the raft log below its last fsync.
	ErrCorrupt = errors.New("zk/ensemble: raft log is damaged")
	// ErrBehind is returned when the transaction log ends before the raft log begins.
	ErrBehind = errors.New("zk/ensemble: transactions are missing between the transaction log and the raft log")
	// ErrStranger is returned when a peer does not prove the key, or is no member.
	ErrStranger = errors.New("zk/ensemble: stranger")
	// ErrNoState is returned when raft takes a state over whose file is not there.
	ErrNoState = errors.New("zk/ensemble: the file of the leader's state is gone")
)
