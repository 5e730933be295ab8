package server

import "strings"

// JVMProperties reads system properties from text of the form "-Dname=value …", as SERVER_JVMFLAGS and JVMFLAGS hold it, so that start
// scripts written for Apache go on working. The names are without "zookeeper."; flags of the Java machine itself are left out.
func JVMProperties(flags string) map[string]string {
	out := map[string]string{}
	for _, word := range strings.Fields(flags) {
		if name, ok := strings.CutPrefix(word, "-D"); ok {
			name, value, _ := strings.Cut(name, "=")
			out[strings.TrimPrefix(name, "zookeeper.")] = value
		}
	}
	return out
}

// ApplyJVMFlags sets what JVMProperties finds. Names that mean nothing here are returned, and those whose value cannot be read.
func (o *Options) ApplyJVMFlags(flags string) (unknown []string) {
	for name, value := range JVMProperties(flags) {
		if known, err := o.Property(name, value); !known || err != nil {
			unknown = append(unknown, name)
		}
	}
	return unknown
}
