package client

// Kind is what happened.
type Kind uint8

// The kinds of events.
const (
	// Connected: a connection stands and the session is valid.
	Connected Kind = iota + 1
	// Disconnected: the connection is gone, the session may still live.
	Disconnected
	// Expired: the session is over; its ephemerals and watches are gone. A new one is opened by itself.
	Expired
	// Created, Deleted, DataChanged, ChildrenChanged: a watch has fired and must be armed again. After a reconnect in the same session
	// the last two come for everything that was watched, whether it has changed or not.
	Created
	Deleted
	DataChanged
	ChildrenChanged
)

// Event is a change of the session or of a watched znode.
type Event struct {
	Kind    Kind
	Path    string // without the chroot
	Session int64  // for Connected
	Fresh   bool   // for Connected: the session is a new one
}
