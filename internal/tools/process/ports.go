package process

import "net"

// FreePorts are n different ports on which nobody listens now.
func FreePorts(n int) ([]int, error) {
	var out []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // behind the last one, or the kernel would give the same again
		out = append(out, l.Addr().(*net.TCPAddr).Port)
	}
	return out, nil
}
