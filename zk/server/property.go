package server

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrProperty is wrapped by Property's error when a value cannot be read.
var ErrProperty = errors.New("zk/server: bad value of a property")

// Property sets one of ZooKeeper's properties that stand in zoo.cfg or behind -Dzookeeper. with the same meaning; name is without
// "zookeeper.". False when it means nothing here.
func (o *Options) Property(name, value string) (known bool, err error) {
	set := o.properties()[name]
	switch {
	case set != nil:
		err = set(value)
	case strings.HasPrefix(name, "authProvider."):
		return o.authProvider(value), nil
	case strings.HasPrefix(name, "ssl.quorum."):
		known, err = o.QuorumTLS.property(strings.TrimPrefix(name, "ssl.quorum."), value)
	case strings.HasPrefix(name, "ssl."):
		known, err = o.TLS.property(strings.TrimPrefix(name, "ssl."), value)
	case strings.HasPrefix(name, "admin.") || strings.HasPrefix(name, "metricsProvider."):
		known, err = o.Admin.property(name, value)
	default:
		return false, nil
	}
	if err != nil {
		return true, fmt.Errorf("%w: %s=%s: %w", ErrProperty, name, value, err)
	}
	return known || set != nil, nil
}

func (o *Options) properties() map[string]func(string) error {
	text := func(to *string) func(string) error {
		return func(v string) error { *to = v; return nil }
	}
	flag := func(to *bool, yes string) func(string) error {
		return func(v string) error { *to = strings.EqualFold(v, yes); return nil }
	}
	number := func(to *int) func(string) error {
		return func(v string) error {
			n, err := strconv.ParseInt(v, 0, 32) // Java reads 0x… too
			if err == nil {
				*to = int(n)
			}
			return err
		}
	}
	require := func(schemes ...string) { o.RequiredSchemes = append(o.RequiredSchemes, schemes...) }
	return map[string]func(string) error{
		"DigestAuthenticationProvider.superDigest": text(&o.SuperDigest),
		"X509AuthenticationProvider.superUser":     text(&o.X509SuperUser),
		"superUser":                                text(&o.SuperUser),
		"sslQuorum":                                flag(&o.SSLQuorum, "true"),
		"sslQuorumReloadCertFiles":                 flag(&o.QuorumTLS.Reload, "true"),
		"client.certReload":                        flag(&o.TLS.Reload, "true"),
		"portUnification": func(v string) error {
			if v == "true" {
				return errors.New("a peer port takes TLS or none, not both: change the servers together")
			}
			return nil
		},
		"enforceQuota":                    flag(&o.EnforceQuota, "true"),
		"extendedTypesEnabled":            flag(&o.ExtendedTypes, "true"),
		"skipACL":                         flag(&o.SkipACL, "yes"),
		"allowSaslFailedClients":          flag(&o.AllowFailedSASL, "true"),
		"4lw.commands.whitelist":          text(&o.FourLetterWhitelist),
		"jute.maxbuffer":                  number(&o.JuteMaxBuffer),
		"snapCount":                       number(&o.SnapCount),
		"java.security.auth.login.config": text(&o.JAASFile),
		"sasl.serverconfig":               text(&o.JAASSection),
		// Apache's own server reads this into a property that nothing looks at; Kafka's guides set it.
		"requireClientAuthScheme": func(string) error { return nil },
		"sessionRequireClientSASLAuth": func(v string) error {
			if v == "true" {
				require("sasl")
			}
			return nil
		},
		"enforce.auth.enabled": flag(&o.enforceAuth, "true"),
		"enforce.auth.schemes": func(v string) error { o.enforceSchemes = v; return nil },
		"serverCnxnFactory":    func(string) error { return nil }, // there is one, and it does TLS
	}
}

// authProvider switches the scheme of one of Apache's classes on; a class of somebody else cannot run here.
func (o *Options) authProvider(class string) bool {
	switch class[strings.LastIndexByte(class, '.')+1:] {
	case "SASLAuthenticationProvider":
		o.Schemes = append(o.Schemes, "sasl")
	case "X509AuthenticationProvider":
		o.Schemes = append(o.Schemes, "x509")
	case "DigestAuthenticationProvider", "IPAuthenticationProvider":
	default:
		return false
	}
	return true
}
