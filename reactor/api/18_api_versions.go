// ApiVersions, versions 0 to 4.
//
//   - An unknown version is answered in the layout of version 0 with UNSUPPORTED_VERSION and the
//     range of this key alone, and the connection lives on (KIP-511).
//   - From version 3 the client's software name and version must match [a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?;
//     anything else is INVALID_REQUEST.
//   - Under an inter.broker.protocol.version below 2.8 topics have no ids, so the versions that name topics by id alone are not told.
//   - No features are supported or finalised, as by a broker in ZooKeeper mode; the epoch is 0 there.

package api

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/reactor/wire"
)

func (b *Broker) apiVersions(r *Request) {
	resp := kmsg.NewPtrApiVersionsResponse()
	if r.Msg == nil {
		resp.ErrorCode = int16(wire.UnsupportedVersion)
		resp.ApiKeys = append(resp.ApiKeys, b.apiVersionsKey(b.table.row(r.Key)))
		r.ReplyAs(0, resp)
		return
	}
	req := r.Msg.(*kmsg.ApiVersionsRequest)
	if r.Version >= 3 && !(softwareName(req.ClientSoftwareName) && softwareName(req.ClientSoftwareVersion)) {
		resp.ErrorCode = int16(wire.InvalidRequest)
		r.Reply(resp)
		return
	}
	r.session.clientSoftware = req.ClientSoftwareName + " " + req.ClientSoftwareVersion
	ibp, known := config.ParseVersion(b.base.Str("inter.broker.protocol.version"))
	named := known && ibp.Less(config.Version{Major: 2, Minor: 8})
	for i := range b.table.rows {
		k := b.apiVersionsKey(&b.table.rows[i])
		if named {
			k.MaxVersion = min(k.MaxVersion, newestNamed(k.ApiKey))
		}
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	r.Reply(resp)
}

// newestNamed is the newest version of a key in which topics have names.
func newestNamed(key int16) int16 {
	switch key {
	case 0, 1: // Produce, Fetch
		return 12
	case 8, 9: // OffsetCommit, OffsetFetch
		return 9
	}
	return math.MaxInt16
}

func (b *Broker) apiVersionsKey(row *Row) kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = row.Key, row.Advertised, row.Max
	return k
}

// softwareName is the check that Kafka makes on both strings.
func softwareName(s string) bool {
	if s == "" || !alphanumeric(s[0]) || !alphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
