package api

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
)

// javaAddress prints an address as Java does: IPv6 in eight groups without leading zeros, never shortened.
func javaAddress(a netip.Addr) string {
	a = a.Unmap()
	if !a.Is6() {
		return a.String()
	}
	raw := a.As16()
	parts := make([]string, 0, 8)
	for i := 0; i < len(raw); i += 2 {
		parts = append(parts, strconv.FormatUint(uint64(binary.BigEndian.Uint16(raw[i:])), 16))
	}
	s := strings.Join(parts, ":")
	if a.Zone() != "" {
		s += "%" + a.Zone()
	}
	return s
}
