//go:build !linux

package netpoll

func openEpoll(int64, func(int, Event)) (Poller, error) { return nil, ErrUnsupported }

func openGnet(func(int, Event)) (Poller, error) { return nil, ErrUnsupported }
