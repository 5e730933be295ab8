package wire_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/reactor/wire"
)

// fill puts random values into every field of a request.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if r.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeOf(kmsg.Tags{}) {
			if r.IntN(4) == 0 {
				v.Addr().Interface().(*kmsg.Tags).Set(uint32(200+r.IntN(3)), []byte("x"))
			}
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Version" {
				fill(r, v.Field(i))
			}
		}
	case reflect.Slice:
		n := r.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i))
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("%0*d", r.IntN(5), 7))
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.IntN(100)))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	}
}

// encoded is a random request of a key and version as kmsg encodes it.
func encoded(r *rand.Rand, key, version int16) (body []byte, flexible bool) {
	req := kmsg.RequestForKey(key)
	fill(r, reflect.ValueOf(req).Elem())
	req.SetVersion(version)
	return req.AppendTo(nil), req.IsFlexible()
}

// The walk ends exactly where kmsg's encoding ends: a byte less is refused, and so no count is passed over.
func TestShapeAgreesWithKmsg(t *testing.T) {
	for key, shape := range wire.Shapes() {
		for version := int16(0); version <= kmsg.RequestForKey(key).MaxVersion(); version++ {
			t.Run(fmt.Sprintf("%s-v%d", kmsg.NameForKey(key), version), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(key), uint64(version)))
				for range 50 {
					body, flexible := encoded(r, key, version)
					if err := shape.Check(wire.NewReader(body), version, flexible); err != nil {
						t.Fatalf("% x: %v", body, err)
					}
					if len(body) == 0 {
						continue
					}
					if err := shape.Check(wire.NewReader(body[:len(body)-1]), version, flexible); err == nil {
						t.Fatalf("% x: accepted without its last byte", body)
					}
				}
			})
		}
	}
}

func TestShapeRefuses(t *testing.T) {
	metadata := wire.Shapes()[3]
	for name, bad := range map[string][]byte{
		"count-beyond-the-bytes":    {0x7f, 0xff, 0xff, 0xff, 0, 0},
		"count-of-too-many":         {0, 0, 0, 4, 0, 0, 0, 0, 0, 0},
		"negative-count":            {0x80, 0, 0, 0, 0, 0},
		"string-beyond-the-bytes":   {0, 0, 0, 1, 0x7f, 0xff, 0},
		"negative-string":           {0, 0, 0, 1, 0x80, 0, 0},
		"array-that-ends-too-early": {0, 0, 0, 1},
	} {
		if err := metadata.Check(wire.NewReader(bad), 0, false); !errors.Is(err, wire.ErrTruncated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := append([]byte{0, 4, 0, 1}, make([]byte, 2*(wire.MaxElements+1))...)
	if err := metadata.Check(wire.NewReader(many), 0, false); !errors.Is(err, wire.ErrTooManyElements) {
		t.Errorf("a quarter of a million empty names: %v", err)
	}
}

// Neither the walk nor, behind it, kmsg's decoder falls over whatever the bytes are. (kmsg may still refuse: a null where none may be.)
func FuzzShape(f *testing.F) {
	shapes := wire.Shapes()
	r := rand.New(rand.NewPCG(1, 2))
	for key := range shapes {
		body, _ := encoded(r, key, kmsg.RequestForKey(key).MaxVersion())
		f.Add(key, kmsg.RequestForKey(key).MaxVersion(), body)
	}
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		shape, ok := shapes[key]
		if !ok || version < 0 || version > kmsg.RequestForKey(key).MaxVersion() {
			return
		}
		req := kmsg.RequestForKey(key)
		req.SetVersion(version)
		if shape.Check(wire.NewReader(body), version, req.IsFlexible()) != nil {
			return
		}
		if err := req.ReadFrom(body); err == nil && len(req.AppendTo(nil)) > 16*len(body)+64 {
			t.Errorf("%d bytes became %d", len(body), len(req.AppendTo(nil)))
		}
	})
}
