package group

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Versions that Kafka 3.9.1 writes. A commit with its own expiry keeps version 1, the last that has a field for it.
const (
	offsetKeyVersion         = 1
	offsetValueVersion       = 3
	offsetValueExpireVersion = 1
	groupKeyVersion          = 2
	groupValueVersion        = 3

	offsetValueNewest = 4 // flexible, Kafka 4.x
	groupValueNewest  = 4
)

// Key is a decoded key of __consumer_offsets.
type Key struct {
	Group string
	// IsOffset tells an offset's key from a group's.
	IsOffset bool
	// Known is false for keys of later Kafkas (consumer, share, streams groups): their records are kept and skipped.
	Known bool
	TopicPartition
}

// DecodeKey reads a key of any version.
func DecodeKey(b []byte) (Key, error) {
	if len(b) < 2 {
		return Key{}, fmt.Errorf("%w: key of %d bytes", ErrCorrupt, len(b))
	}
	switch version := int16(binary.BigEndian.Uint16(b)); {
	case version == 0 || version == offsetKeyVersion:
		var k kmsg.OffsetCommitKey
		if err := k.ReadFrom(b); err != nil {
			return Key{}, fmt.Errorf("%w: offset key: %w", ErrCorrupt, err)
		}
		return Key{Group: k.Group, IsOffset: true, Known: true, TopicPartition: TopicPartition{k.Topic, k.Partition}}, nil
	case version == groupKeyVersion:
		var k kmsg.GroupMetadataKey
		if err := k.ReadFrom(b); err != nil {
			return Key{}, fmt.Errorf("%w: group key: %w", ErrCorrupt, err)
		}
		return Key{Group: k.Group, Known: true}, nil
	case version > groupKeyVersion:
		return Key{}, nil
	default:
		return Key{}, fmt.Errorf("%w: key version %d", ErrCorrupt, version)
	}
}

func encodeOffsetKey(group string, tp TopicPartition) []byte {
	return encodeOffsetKeyAs(group, tp, offsetKeyVersion)
}

func encodeOffsetKeyAs(group string, tp TopicPartition, version int16) []byte {
	k := kmsg.OffsetCommitKey{Version: version, Group: group, Topic: tp.Topic, Partition: tp.Partition}
	return k.AppendTo(nil)
}

func encodeGroupKey(group string) []byte {
	k := kmsg.GroupMetadataKey{Version: groupKeyVersion, Group: group}
	return k.AppendTo(nil)
}

// Offset is one committed offset as it is kept.
type Offset struct {
	Offset      int64
	LeaderEpoch int32 // -1 for none
	Metadata    string
	CommitMs    int64
	ExpireMs    int64 // -1: by the broker's retention
}

// ValueVersions are those that older brokers of a cluster, or one that the files go back to, can still read.
type ValueVersions struct{ Offset, Group int16 }

// written are the versions of values that are written.
func (o *Options) written() ValueVersions {
	if o.Values == nil {
		return ValueVersions{offsetValueVersion, groupValueVersion}
	}
	return *o.Values
}

func encodeOffsetValue(o *Offset) []byte { return encodeOffsetValueAs(o, offsetValueVersion) }

func encodeOffsetValueAs(o *Offset, version int16) []byte {
	v := kmsg.OffsetCommitValue{
		Version:         version,
		Offset:          o.Offset,
		LeaderEpoch:     o.LeaderEpoch,
		Metadata:        o.Metadata,
		CommitTimestamp: o.CommitMs,
		ExpireTimestamp: o.ExpireMs,
	}
	if o.ExpireMs >= 0 && version > 0 { // version 0 of Kafka 0.8 has no room for it
		v.Version = offsetValueExpireVersion
	}
	return v.AppendTo(nil)
}

// DecodeOffsetValue reads an offset of any version.
func DecodeOffsetValue(b []byte) (Offset, error) {
	if err := checkValueVersion(b, offsetValueNewest); err != nil {
		return Offset{}, err
	}
	var v kmsg.OffsetCommitValue
	if err := v.ReadFrom(b); err != nil {
		return Offset{}, fmt.Errorf("%w: offset value: %w", ErrCorrupt, err)
	}
	o := Offset{Offset: v.Offset, LeaderEpoch: -1, Metadata: v.Metadata, CommitMs: v.CommitTimestamp, ExpireMs: -1}
	if v.Version >= offsetValueVersion {
		o.LeaderEpoch = v.LeaderEpoch
	}
	if v.Version == offsetValueExpireVersion {
		o.ExpireMs = v.ExpireTimestamp
	}
	return o, nil
}

// GroupValue is one group as it is kept.
type GroupValue struct {
	ProtocolType string
	Generation   int32
	Protocol     *string
	Leader       *string
	StateMs      int64 // -1 when the version had no field for it
	Members      []GroupValueMember
}

// GroupValueMember is one member as it is kept.
type GroupValueMember struct {
	MemberID, ClientID, ClientHost string
	Instance                       *string
	RebalanceMs, SessionMs         int32
	Subscription, Assignment       []byte
}

func encodeGroupValue(g *GroupValue) []byte { return encodeGroupValueAs(g, groupValueVersion) }

func encodeGroupValueAs(g *GroupValue, version int16) []byte {
	v := kmsg.GroupMetadataValue{
		Version:               version,
		ProtocolType:          g.ProtocolType,
		Generation:            g.Generation,
		Protocol:              g.Protocol,
		Leader:                g.Leader,
		CurrentStateTimestamp: g.StateMs,
	}
	for i := range g.Members {
		m := &g.Members[i]
		v.Members = append(v.Members, kmsg.GroupMetadataValueMember{
			MemberID: m.MemberID, InstanceID: m.Instance, ClientID: m.ClientID, ClientHost: m.ClientHost,
			RebalanceTimeoutMillis: m.RebalanceMs, SessionTimeoutMillis: m.SessionMs,
			Subscription: m.Subscription, Assignment: m.Assignment,
		})
	}
	return v.AppendTo(nil)
}

// DecodeGroupValue reads a group of any version.
func DecodeGroupValue(b []byte) (GroupValue, error) {
	if err := checkValueVersion(b, groupValueNewest); err != nil {
		return GroupValue{}, err
	}
	var v kmsg.GroupMetadataValue
	if err := v.ReadFrom(b); err != nil {
		return GroupValue{}, fmt.Errorf("%w: group value: %w", ErrCorrupt, err)
	}
	g := GroupValue{
		ProtocolType: v.ProtocolType, Generation: v.Generation, Protocol: v.Protocol, Leader: v.Leader, StateMs: v.CurrentStateTimestamp,
	}
	for i := range v.Members {
		m := &v.Members[i]
		if v.Version == 0 {
			// Version 0 knew one timeout for both.
			m.RebalanceTimeoutMillis = m.SessionTimeoutMillis
		}
		g.Members = append(g.Members, GroupValueMember{
			MemberID: m.MemberID, Instance: m.InstanceID, ClientID: m.ClientID, ClientHost: m.ClientHost,
			RebalanceMs: m.RebalanceTimeoutMillis, SessionMs: m.SessionTimeoutMillis,
			// kmsg's bytes are views of b.
			Subscription: bytes.Clone(m.Subscription), Assignment: bytes.Clone(m.Assignment),
		})
	}
	return g, nil
}

func checkValueVersion(b []byte, newest int16) error {
	if len(b) < 2 {
		return fmt.Errorf("%w: value of %d bytes", ErrCorrupt, len(b))
	}
	if v := int16(binary.BigEndian.Uint16(b)); v < 0 || v > newest {
		return fmt.Errorf("%w: value version %d", ErrCorrupt, v)
	}
	return nil
}
