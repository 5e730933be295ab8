package meta

// Endpoint is one advertised listener of a broker.
type Endpoint struct {
	Listener string
	Host     string
	Port     int32
	Protocol string // PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
}

// Broker is one live broker.
type Broker struct {
	ID        int32
	Epoch     int64 // czxid of its registration; a later one means that it was away in between
	Endpoints []Endpoint
	Rack      *string
	Features  map[string]FeatureRange
}

// FeatureRange is the versions of one feature that a broker supports.
type FeatureRange struct{ Min, Max int16 }

// Endpoint finds the endpoint of a listener, nil when the broker has none of that name.
func (b *Broker) Endpoint(listener string) *Endpoint {
	for i := range b.Endpoints {
		if b.Endpoints[i].Listener == listener {
			return &b.Endpoints[i]
		}
	}
	return nil
}

func (b *Broker) equal(o *Broker) bool {
	if b.ID != o.ID || b.Epoch != o.Epoch || len(b.Endpoints) != len(o.Endpoints) || (b.Rack == nil) != (o.Rack == nil) {
		return false
	}
	if b.Rack != nil && *b.Rack != *o.Rack {
		return false
	}
	for i := range b.Endpoints {
		if b.Endpoints[i] != o.Endpoints[i] {
			return false
		}
	}
	return true
}
