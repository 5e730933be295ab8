package run

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ibp is inter.broker.protocol.version as numbers: 3.9, 2.8, 0.10.2. It decides which forms of a znode are written.
type ibp []int

func parseIBP(s string) (ibp, error) {
	if s == "" {
		s = "3.9"
	}
	s, _, _ = strings.Cut(s, "-") // 3.9-IV0
	var v ibp
	for _, part := range strings.Split(s, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("run: inter.broker.protocol.version %q is not a version such as 3.9", s)
		}
		v = append(v, n)
	}
	return v, nil
}

func (v ibp) atLeast(want ...int) bool { return slices.Compare(v, want) >= 0 }

func (v ibp) topicIDs() bool { return v.atLeast(2, 8) }

func (v ibp) features() bool { return v.atLeast(2, 7) }

// featureNode is the version and the status of /feature.
func (v ibp) featureNode() (version, status int) {
	if v.features() {
		status = 1
	}
	if version = 1; v.atLeast(3, 3) {
		version = 2
	}
	return version, status
}
