package arena

import "math/bits"

// Size classes: powers of two from classMin, with three steps between two powers from classFine on, so that a frame a few bytes above
// 1 MiB takes 1.25 MiB and not 2, and 56 KiB of one that has begun no more than that.
const (
	classMin  = 256
	classFine = 32 << 10
	// MaxBuf is the largest buffer that Get hands out.
	MaxBuf = 128 << 20

	minBits    = 8  // log2(classMin)
	fineBits   = 15 // log2(classFine)
	maxBits    = 27 // log2(MaxBuf)
	coarse     = fineBits - minBits
	classCount = coarse + (maxBits-fineBits)*4 + 1
	pageBytes  = 4096
)

// classOf is the smallest class that holds n bytes, 1 <= n <= MaxBuf.
func classOf(n int) int {
	if n <= classMin {
		return 0
	}
	if n <= classFine {
		return bits.Len(uint(n-1)) - minBits
	}
	top := bits.Len(uint(n-1)) - 1   // 2^top < n <= 2^(top+1)
	step := (n - 1) >> (top - 2) & 3 // which quarter above 2^top
	return coarse + (top-fineBits)*4 + step + 1
}

// classSize is the number of bytes of a class.
func classSize(class int) int {
	if class <= coarse {
		return classMin << class
	}
	fine := class - coarse
	return classFine<<(fine/4) + (classFine<<(fine/4))/4*(fine%4)
}
