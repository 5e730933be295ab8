// Package config holds every configuration key once, and everything that is printed or checked from it.
//
// Owns: the tables of broker and topic keys (name, kind, default, bounds, how it may change, what it means), the layers
// default, static, dynamic default and dynamic per broker, and the answers of DescribeConfigs made from them.
// Callers: cmd, which fills plain Options structs from it, and the config handlers of reactor/api.
// Thread: any; a Table is never changed after it is made, a Broker and a Topic are values that With replaces.
// Never: reads files, the environment or the clock; knows Kafka error codes.
// Fails: ValueError for a value of the wrong form or out of bounds, InvalidError for an unknown topic key and for values
// that contradict each other; their texts are those of Kafka 3.9. Unknown broker keys are warnings.
package config
