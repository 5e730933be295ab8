package plan

import (
	"strings"

	"github.com/pelton-broker/pelton/controller/meta"
)

const nameMax = 249

// CheckName refuses what is no topic name.
func CheckName(name string) error {
	switch {
	case name == "":
		return Refuse(ErrInvalidTopicName, "a topic name may not be empty")
	case name == "." || name == "..":
		return Refuse(ErrInvalidTopicName, "a topic may not be called %q", name)
	case len(name) > nameMax:
		return Refuse(ErrInvalidTopicName, "a topic name has at most %d characters, this one has %d", nameMax, len(name))
	}
	for i := range len(name) {
		c := name[i]
		if c != '.' && c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return Refuse(ErrInvalidTopicName, "the topic name %q has a character other than letters, digits, '.', '_' and '-'", name)
		}
	}
	return nil
}

// Collision returns the existing topic that name would share its metric names with: those differ in dots and
// underscores alone. It is "" when there is none.
func Collision(name string, img *meta.Image) string {
	if !strings.ContainsAny(name, "._") {
		return ""
	}
	folded := strings.ReplaceAll(name, ".", "_")
	for _, other := range img.TopicNames {
		if other != name && len(other) == len(name) && strings.ReplaceAll(other, ".", "_") == folded {
			return other
		}
	}
	return ""
}
