package uring

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// What registering the memory of appends would save: the same writes into the page cache from one buffer, registered and not. The CPU
// time is that of the whole process, the kernel's workers for the ring among it.
func BenchmarkWriteFixed(b *testing.B) {
	const span = 64 << 20 // the file grows to it, as a log does, and is then cut to nothing
	for _, size := range []int{16 << 10, 1 << 20} {
		for _, fixed := range []bool{false, true} {
			b.Run(fmt.Sprintf("size=%d/fixed=%v", size, fixed), func(b *testing.B) {
				r := newRig(b, Open, Options{Entries: 8})
				f := tempFile(b, b.TempDir())
				fd := int(f.Fd())
				mem, err := unix.Mmap(-1, 0, 4<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = unix.Munmap(mem) }()
				if fixed {
					if err := r.RegisterBuffers([][]byte{mem}); err != nil {
						b.Skip("buffers cannot be registered here:", err)
					}
				}
				one := func(at int) {
					if at%span == 0 {
						if err := f.Truncate(0); err != nil {
							b.Fatal(err)
						}
					}
					piece := mem[at%len(mem):][:size]
					e := Write(fd, piece, int64(at%span))
					if fixed {
						e = WriteFixed(fd, piece, int64(at%span), 0)
					}
					r.want(r.do(e), int32(size))
				}
				for at := 0; at < span; at += size {
					one(at)
				}
				b.SetBytes(int64(size))
				before := processCPU(b)
				b.ResetTimer()
				for i := range b.N {
					one(i * size)
				}
				b.StopTimer()
				b.ReportMetric(float64(processCPU(b)-before)/float64(b.N)/1e3, "cpu-µs/op")
			})
		}
	}
}

// processCPU is the time in ns that all threads of this process have had a CPU for.
func processCPU(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
