package api

import "errors"

// errDenied closes a connection whose request as a whole nobody may make.
var errDenied = errors.New("api: the session may not make this request")

// authorize tells whether a session may do what a row does to the resource of that name; no name asks for the row as a whole. It allows
// everything until there are access control lists. Every request comes by here before its handler runs, and the hot ones once more for each
// topic they name.
func authorize[N string | []byte](_ *Session, _ *Row, _ N) bool { return true }
