package client

import (
	"strings"

	"github.com/go-zookeeper/zk"
)

// aclFor is Kafka's rule: open to the world, or with SetACL to the creator alone; what is no secret stays readable, and
// /consumers belongs to the old consumers. path is without the chroot.
func (c *Client) aclFor(path string) []zk.ACL {
	if !c.o.SetACL || path == "/consumers" || strings.HasPrefix(path, "/consumers/") {
		return zk.WorldACL(zk.PermAll)
	}
	acl := zk.AuthACL(zk.PermAll)
	for _, secret := range []string{"/config/users", "/config/brokers", "/delegation_token"} {
		if path == secret || strings.HasPrefix(path, secret+"/") {
			return acl
		}
	}
	return append(acl, zk.WorldACL(zk.PermRead)...)
}
