package server

import (
	"slices"
	"testing"
)

func TestApplyJVMFlagsReadsApachesProperties(t *testing.T) {
	var o Options
	unknown := o.ApplyJVMFlags("-Xmx512m -Dzookeeper.DigestAuthenticationProvider.superDigest=super:abc= -Dzookeeper.extendedTypesEnabled=true  -Djute.maxbuffer=0x200000 -Dzookeeper.skipACL=yes -Dother=1")
	if o.SuperDigest != "super:abc=" || !o.ExtendedTypes || o.JuteMaxBuffer != 0x200000 || !o.SkipACL || !slices.Equal(unknown, []string{"other"}) {
		t.Fatalf("%+v, unknown %v", o, unknown)
	}
}
