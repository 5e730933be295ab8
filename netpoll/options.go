package netpoll

// Options are the limits of one loop. Zero fields get the defaults; a zero duration means no limit.
type Options struct {
	// Poller is "epoll" (default) or "gnet".
	Poller string
	// NapNs is how long the epoll poller sleeps before it tells Go's scheduler that it does (poller_epoll_linux.go says why).
	// Default 2 ms; less than 0 for not at all.
	NapNs int64
	// IDBase is put above the running number in Conn.ID, so that the connections of several loops differ.
	IDBase uint64
	// MaxFrame bounds a frame until SetMaxFrame says otherwise. Default 100 MiB.
	MaxFrame int32
	// Sniff shows the first four bytes of a connection to Handler.OnRaw.
	Sniff bool
	// BlockBytes is the size of the read block that all connections share. Default 256 KiB, at least 64 KiB.
	BlockBytes int
	// ReadPerTurn and SendPerTurn bound what one connection moves in one turn before the others get theirs. Default 1 and 2 MiB.
	ReadPerTurn int
	SendPerTurn int
	// LowWater is how much of the rest of a large frame must have come before its connection is read again (SO_RCVLOWAT). Default 0: anything.
	LowWater int
	// Eager sends what the handler has queued for a connection as soon as what came from it is handled, not at the turn's end: with
	// thousands of connections in a turn the socket is still in the processor's cache, and one block of output serves them all.
	Eager bool
	// MaxOut is the number of queued bytes above which a connection is not read any more, until half of it has left. Default no bound.
	MaxOut int64

	// SendPath says how spans leave: SendFile (default), SendCopy or SendZeroCopy. NewNet returns ErrNoZeroCopy where the kernel has none.
	SendPath string
	// ProbeZeroCopy replaces the kernel's answer in tests.
	ProbeZeroCopy func() error
	// Cork says when a send is held together by TCP_CORK: CorkAuto (default), CorkAlways or CorkNever.
	Cork string
	// QuickAck says who decides when a connection's bytes are acknowledged: QuickAckKernel (default), QuickAckOn or QuickAckOff.
	QuickAck string

	// Limits in nanoseconds of the caller's clock, checked by Sweep.
	IdleNs    int64 // no frame, none begun and nothing owed
	FrameNs   int64 // no byte of a frame that has begun
	SlowNs    int64 // output waits and the peer takes nothing
	ConnectNs int64 // an outgoing connection is not established

	// Reserve is asked for the whole size of a large frame once 64 KiB of it have come; false leaves the connection unread until it is true.
	// Unreserve gives it back when the frame has been handed over or its connection has died.
	Reserve   func(bytes int64) bool
	Unreserve func(bytes int64)
	// OnFileError is told of a span whose file failed; the connection is closed with a *FileError.
	OnFileError func(fd int, err error)
	// Limiter gets the places of closed connections back; the listener's.
	Limiter *Limiter
	// Socket is set on outgoing sockets; accepted ones have their listener's.
	Socket SocketOptions
}

// SocketOptions are handed to the kernel. Zero leaves the kernel's default, but for Nagle's algorithm, which is off.
type SocketOptions struct {
	Nagle        bool   // leave Nagle's algorithm on
	SendBuffer   int    // SO_SNDBUF
	RecvBuffer   int    // SO_RCVBUF
	RecvLowWater int    // SO_RCVLOWAT: a reader is not woken for less
	BusyPollUs   int    // SO_BUSY_POLL
	Congestion   string // TCP_CONGESTION
	KeepAliveSec int    // SO_KEEPALIVE with this period
}

// The ways of a span to the socket.
const (
	// SendFile sends the file's pages by reference.
	SendFile = "sendfile"
	// SendCopy reads into a buffer and sends that: what sendfile saves.
	SendCopy = "copy"
	// SendZeroCopy reads into a buffer that the kernel sends from by reference, and that is used again when the kernel says so.
	SendZeroCopy = "zerocopy"
)

// When a send is held together.
const (
	// CorkAuto holds an answer together whose spans have something behind them.
	CorkAuto = "auto"
	// CorkAlways holds together whatever goes in one turn.
	CorkAlways = "always"
	// CorkNever holds nothing together, the bytes in front of a span neither.
	CorkNever = "never"
)

// Who decides about acknowledgements.
const (
	QuickAckKernel = "kernel"
	// QuickAckOn asks for an acknowledgement at once after each turn in which bytes came: the kernel forgets it by itself.
	QuickAckOn = "on"
	// QuickAckOff asks for delayed ones.
	QuickAckOff = "off"
)

const (
	defaultMaxFrame = 100 << 20
	defaultBlock    = 256 << 10
	minBlock        = 64 << 10
	defaultReadTurn = 1 << 20
	defaultSendTurn = 2 << 20
)

func (o *Options) setDefaults() {
	if o.MaxFrame <= 0 {
		o.MaxFrame = defaultMaxFrame
	}
	if o.BlockBytes <= 0 {
		o.BlockBytes = defaultBlock
	}
	o.BlockBytes = max(o.BlockBytes, minBlock)
	if o.ReadPerTurn <= 0 {
		o.ReadPerTurn = defaultReadTurn
	}
	if o.SendPerTurn <= 0 {
		o.SendPerTurn = defaultSendTurn
	}
	if o.SendPath == "" {
		o.SendPath = SendFile
	}
	if o.ProbeZeroCopy == nil {
		o.ProbeZeroCopy = probeZeroCopy
	}
	if o.Cork == "" {
		o.Cork = CorkAuto
	}
	if o.QuickAck == "" {
		o.QuickAck = QuickAckKernel
	}
	if o.Reserve == nil {
		o.Reserve = func(int64) bool { return true }
	}
	if o.Unreserve == nil {
		o.Unreserve = func(int64) {}
	}
	if o.OnFileError == nil {
		o.OnFileError = func(int, error) {}
	}
}
