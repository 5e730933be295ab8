//go:build giouring

package disk

import "github.com/pelton-broker/pelton/internal/uring"

func moreBackends() []backend {
	return []backend{{"uring-over-giouring", Options{Backend: "uring", OpenRing: uring.OpenGiouring}}}
}
