package server

import (
	"strconv"
	"strings"
)

// ApplyJVMFlags takes ZooKeeper's system properties from text of the form "-Dzookeeper.name=value …", as SERVER_JVMFLAGS
// and JVMFLAGS hold it, so that start scripts written for Apache go on working. Names that mean nothing here are returned.
func (o *Options) ApplyJVMFlags(flags string) (unknown []string) {
	for _, word := range strings.Fields(flags) {
		name, ok := strings.CutPrefix(word, "-D")
		if !ok {
			continue // a flag of the Java machine itself
		}
		name, value, _ := strings.Cut(name, "=")
		switch strings.TrimPrefix(name, "zookeeper.") {
		case "DigestAuthenticationProvider.superDigest":
			o.SuperDigest = value
		case "extendedTypesEnabled":
			o.ExtendedTypes = value == "true"
		case "skipACL":
			o.SkipACL = value == "yes"
		case "4lw.commands.whitelist":
			o.FourLetterWhitelist = value
		case "jute.maxbuffer":
			// Java reads 0x… and decimal; what is neither leaves the default.
			if n, err := strconv.ParseInt(value, 0, 32); err == nil && n > 0 {
				o.JuteMaxBuffer = int(n)
			}
		case "snapCount":
			if n, err := strconv.Atoi(value); err == nil && n > 0 {
				o.SnapCount = n
			}
		default:
			unknown = append(unknown, name)
		}
	}
	return unknown
}
