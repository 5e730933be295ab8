package main

import (
	"fmt"
	"strconv"
	"strings"
)

// The flag types of quantities with units: bytes, bytes a second, shares.
type (
	bytesValue float64
	rate       float64
	share      float64
)

// unit is a suffix and its factor; of those that fit the longest counts.
type unit struct {
	name   string
	factor float64
}

func byteUnits() []unit {
	return []unit{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"PB", 1e15}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1}}
}

func bitUnits() []unit {
	return []unit{{"Gbit", 1e9 / 8}, {"Mbit", 1e6 / 8}, {"kbit", 1e3 / 8}}
}

// parseQuantity reads a number with one of the units, or without.
func parseQuantity(text string, units []unit) (float64, error) {
	number, factor := strings.TrimSpace(text), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, factor = strings.TrimSpace(rest), u.factor
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v < 0 || v > 1e18 {
		var names []string
		for _, u := range units {
			names = append(names, u.name)
		}
		return 0, fmt.Errorf("%q is not a number with one of %s", text, strings.Join(names, " "))
	}
	return v * factor, nil
}

// Set implements pflag.Value.
func (b *bytesValue) Set(text string) error {
	v, err := parseQuantity(text, byteUnits())
	*b = bytesValue(v)
	return err
}

// Set implements pflag.Value.
func (r *rate) Set(text string) error {
	v, err := parseQuantity(strings.TrimSuffix(strings.TrimSuffix(text, "/s"), "ps"), append(bitUnits(), byteUnits()...))
	*r = rate(v)
	return err
}

// Set implements pflag.Value.
func (s *share) Set(text string) error {
	v, err := parseQuantity(text, []unit{{"%", 0.01}})
	*s = share(v)
	return err
}

// Type implements pflag.Value.
func (b *bytesValue) Type() string { return "bytes" }

// Type implements pflag.Value.
func (r *rate) Type() string { return "rate" }

// Type implements pflag.Value.
func (s *share) Type() string { return "share" }

// String is the size in thousands.
func (b bytesValue) String() string {
	for _, u := range [...]unit{{"PB", 1e15}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if float64(b) >= u.factor {
			return strconv.FormatFloat(float64(b)/u.factor, 'g', 6, 64) + " " + u.name
		}
	}
	return strconv.FormatFloat(float64(b), 'g', 6, 64) + " B"
}

// String is the rate in thousands.
func (r rate) String() string { return bytesValue(r).String() + "/s" }

// String is the share in percent.
func (s share) String() string { return strconv.FormatFloat(float64(s)*100, 'g', 6, 64) + " %" }
