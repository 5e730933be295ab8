//go:build !giouring

package uring

func moreOpeners() []opener { return nil }
