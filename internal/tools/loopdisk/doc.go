// Package loopdisk makes disks that can lose everything that was not made durable, as a power cut does: file systems on loop devices.
//
// Owns: the image, the device and the mount of each disk.
// Callers: the tools that cut the power under a broker or a coordination server.
// Thread: the caller's; a disk is one thread's.
// Never: touches a device or a mount that it did not make.
// Fails: with ErrMissing when the machine gives no loop devices, otherwise with what the program that was called printed.
package loopdisk
