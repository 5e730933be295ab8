package api

import (
	"strconv"

	"github.com/pelton-broker/pelton/controller/meta"
)

// moveRateKey is the dynamic setting of brokers that bounds moves between directories.
const moveRateKey = "replica.alter.log.dirs.io.max.bytes.per.second"

// limitMoves takes the bound on moves between directories from an image. It is no key of Kafka's configuration files.
func (b *Broker) limitMoves(img *meta.Image) {
	value, ok := img.BrokerConfigs[b.Options().BrokerID][moveRateKey]
	if !ok {
		value, ok = img.DefaultBrokerConfig[moveRateKey]
	}
	rate := int64(0)
	if ok {
		var err error
		if rate, err = strconv.ParseInt(value, 10, 64); err != nil || rate < 0 {
			b.log.Warn("dynamic setting", "key", moveRateKey, "err", "it is no number of bytes: "+value)
			rate = 0
		}
	}
	b.logs.LimitMoves(rate)
}
