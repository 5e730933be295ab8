package broker_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fill puts something into every field of a request: two elements into each list, a short text into each string.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.Struct && v.IsNil() && depth > 4 {
			return
		}
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem(), depth+1)
	case reflect.Struct:
		if v.Type() == reflect.TypeOf(kmsg.Tags{}) {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Name != "Version" {
				fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), depth+1)
		}
	case reflect.String:
		v.SetString("nobody")
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	}
}

// filled is a request of a key with something in every field that the version has.
func filled(key, version int16) []byte {
	req := kmsg.RequestForKey(key)
	fill(reflect.ValueOf(req), 0)
	return frameOf(1, version, req)
}

// lies are changes of a frame that make some count or length in it wrong, at every step-th byte.
func lies(frame []byte, from, step int) (out [][]byte) {
	for at := from; at < len(frame); at += step {
		for _, lie := range [][]byte{{0x7f, 0xff, 0xff, 0xff}, {0, 0x0f, 0xff, 0xff}, {0x80, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff, 0x07}, {0xff, 0xff, 0x3f}} {
			if at+len(lie) <= len(frame) {
				b := append([]byte(nil), frame...)
				copy(b[at:], lie)
				out = append(out, b)
			}
		}
		cut := append([]byte(nil), frame[:at]...)
		binary.BigEndian.PutUint32(cut, uint32(at-4))
		out = append(out, cut)
	}
	return out
}

// changesMuch are keys that could carry out a lie: a topic of a million partitions is a fair request for who may make it.
var changesMuch = map[int16]bool{19: true, 37: true}

// S2: for every key and version, counts and lengths that lie, and frames that end early: an answer or a closed connection, never memory.
func TestCountsThatLie(t *testing.T) {
	n := own(t, "auto.create.topics.enable=false")
	bystander := n.dial(t)
	name := topic(t, bystander, 1)
	mustProduce(bystander, name, values("v"))
	for key, r := range ranges(bystander) {
		if changesMuch[key] {
			continue
		}
		for version := r[0]; version <= r[1]; version++ {
			t.Run(fmt.Sprintf("%s-v%d", kmsg.NameForKey(key), version), func(t *testing.T) {
				// Neighbouring versions have nearly the same layout: each is lied to at other bytes.
				frames := lies(filled(key, version), 12+int(version)%6, 6)
				spent := allocated(func() {
					for _, frame := range frames {
						c, err := n.connect(t)
						if err != nil {
							t.Fatal(err)
						}
						c.writeAndDrain(frame)
						c.close()
					}
				})
				if each := spent / int64(len(frames)); each > 64<<10 {
					t.Errorf("%d bytes allocated per frame", each)
				}
				bystander.works()
			})
		}
	}
	want(t, "records", len(readAll(bystander, name, 0, 0)), 1)
}

// S2: a count that fits into the bytes that follow, but not into as many elements, costs no more than a few times the frame.
func TestCountsThatAmplify(t *testing.T) {
	n := own(t, "auto.create.topics.enable=false")
	bystander := n.dial(t)
	const padding = 66 << 10
	for key, r := range ranges(bystander) {
		if changesMuch[key] {
			continue
		}
		for _, version := range []int16{r[0], r[1]} {
			t.Run(fmt.Sprintf("%s-v%d", kmsg.NameForKey(key), version), func(t *testing.T) {
				frame := filled(key, version)
				worst := int64(0)
				for at := 12; at < min(len(frame), 120); at += 3 {
					for _, count := range [][]byte{{0, 0, 0xff, 0xf0}, {0xf0, 0xff, 0x03}} {
						b := append(append([]byte(nil), frame[:at]...), count...)
						b = append(b, bytes.Repeat([]byte{'A'}, padding)...) // no element of a few bytes is in there
						binary.BigEndian.PutUint32(b, uint32(len(b)-4))
						// Something else in the process may allocate at the same moment, but not three times.
						spent := int64(1 << 62)
						for tries := 0; tries < 3 && spent > 4*padding+128<<10; tries++ {
							spent = min(spent, lied(t, n, b))
						}
						worst = max(worst, spent)
					}
				}
				if worst > 4*padding+128<<10 {
					t.Errorf("a frame of %d bytes made the broker allocate %d", padding, worst)
				}
				bystander.works()
			})
		}
	}
}

// lied is what the process allocates for one frame on a connection of its own.
func lied(t *testing.T, n *node, frame []byte) int64 {
	t.Helper()
	c, err := n.connect(t)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	return allocated(func() { c.writeAndDrain(frame) })
}
