// Package mounts gives tests directories on several file systems.
//
// Owns: the loop-mounted xfs and the small tmpfs that a test asks for, until its end.
// Callers: tests of internal/uring and internal/disk; nothing else.
// Thread: that of the test.
// Never: leaves a mount behind; part of the product.
// Fails: skips the test and names what is missing: root, mkfs.xfs, a loop device.
package mounts
