package netpoll

// ListenOptions belong to one listening socket.
type ListenOptions struct {
	// Limiter refuses connections beyond its limits; nil refuses none.
	Limiter *Limiter
	// OnRefused is told of each refused connection, on the accepting goroutine; nil is not told.
	OnRefused func(cause error)
	// Socket is inherited by every accepted connection.
	Socket SocketOptions
	// ReusePort lets several processes listen on the address.
	ReusePort bool
}
