package api

import "reflect"

// answerCodes finds the error codes in one kind of response of the slow path; it is worked out once from the response's Go type.
type answerCodes struct {
	own   []int // fields that are codes
	below []codesBelow
}

type codesBelow struct {
	field int
	at    *answerCodes
}

// codesIn works out where a type keeps error codes; nil when it has none.
func codesIn(t reflect.Type) *answerCodes {
	c := &answerCodes{}
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Name == "ErrorCode" && f.Type.Kind() == reflect.Int16:
			c.own = append(c.own, i)
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			if at := codesIn(f.Type.Elem()); at != nil {
				c.below = append(c.below, codesBelow{field: i, at: at})
			}
		}
	}
	if len(c.own)+len(c.below) == 0 {
		return nil
	}
	return c
}

// failures appends the codes of a response that are errors.
func (c *answerCodes) failures(v reflect.Value, dst []int16) []int16 {
	if c == nil {
		return dst
	}
	for _, i := range c.own {
		if code := v.Field(i).Int(); code != 0 {
			dst = append(dst, int16(code))
		}
	}
	for _, b := range c.below {
		list := v.Field(b.field)
		for i := range list.Len() {
			dst = b.at.failures(list.Index(i), dst)
		}
	}
	return dst
}
