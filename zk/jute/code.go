package jute

import "strconv"

// Code is a ZooKeeper error number; it is an error, OK excepted by its users.
type Code int32

// Error codes.
const (
	OK                       Code = 0
	SystemError              Code = -1
	RuntimeInconsistency     Code = -2
	MarshallingError         Code = -5
	Unimplemented            Code = -6
	OperationTimeout         Code = -7
	BadArguments             Code = -8
	NewConfigNoQuorum        Code = -13
	ReconfigInProgress       Code = -14
	NoNode                   Code = -101
	NoAuth                   Code = -102
	BadVersion               Code = -103
	NoChildrenForEphemerals  Code = -108
	NodeExists               Code = -110
	NotEmpty                 Code = -111
	SessionExpired           Code = -112
	InvalidCallback          Code = -113
	InvalidACL               Code = -114
	AuthFailed               Code = -115
	SessionMoved             Code = -118
	NotReadOnly              Code = -119
	EphemeralOnLocalSession  Code = -120
	NoWatcher                Code = -121
	ReconfigDisabled         Code = -123
	SessionClosedRequireSASL Code = -124
	QuotaExceeded            Code = -125
	Throttled                Code = -127
)

// Error implements error.
func (c Code) Error() string { return "zookeeper error " + strconv.Itoa(int(c)) }
