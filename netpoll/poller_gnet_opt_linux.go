//go:build poll_opt

package netpoll

// Under the tag poll_opt gnet's Poller has another interface, which calls back per attachment.
func openGnet(func(int, Event)) (Poller, error) { return nil, ErrUnsupported }
