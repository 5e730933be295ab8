//go:build !linux

package netpoll

type iovec struct{ b []byte }

func setIovec(v *iovec, b []byte) { v.b = b }

func sysRead(int, []byte, []byte) (int, error)        { return 0, ErrUnsupported }
func sysSend(int, []iovec, int, bool) (int, error)    { return 0, ErrUnsupported }
func sysSendfile(int, int, int64, int64) (int, error) { return 0, ErrUnsupported }
func sysLowWater(int, int) error                      { return ErrUnsupported }

func sysReadAt(int, []byte, int64) (int, error)      { return 0, ErrUnsupported }
func sysSendZeroCopy(int, []byte, bool) (int, error) { return 0, ErrUnsupported }
func sysZeroCopy(int) error                          { return ErrUnsupported }
func probeZeroCopy() error                           { return ErrUnsupported }

func zeroCopyDone(_ int, out []zcBuf) ([]zcBuf, int) { return out, 0 }

func stillBroken(int) bool     { return true }
func isNoBuffers(error) bool   { return false }
func sysShutdown(int)          {}
func sysAbort(int)             {}
func sysQuickAck(int, bool)    {}
func sysCork(int, bool)        {}
func sysUnread(int) int        { return 0 }
func sysSocketError(int) error { return ErrUnsupported }
func sysClose(int)             {}
func isAgain(error) bool       { return false }
func isConnError(error) bool   { return false }
