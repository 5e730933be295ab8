// Command power-cut cuts the power under a real broker: its data is on a file system of its own, on a loop device, which is shut down while
// producers write; then the broker is killed, the file system mounted again, and every acknowledged record must be there. With -fuse its log
// directories are on a file system of this program's own, where reads, writes and syncs fail when told to.
//
// Owns: the loop devices and mounts that it makes, the broker that it starts, the producers and what they were told.
// Callers: make power-cut, make disk-faults, make soak.
// Thread: one, beside the producers' own.
// Never: touches a device or a mount that it did not make.
// Fails: exit code 1 when an acknowledged record is missing or moved, or when an append is acknowledged after the cut; exit code 0 with the
// reason when the machine has no loop devices or the user is not root.
package main
