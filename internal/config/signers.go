package config

import (
	"slices"
	"strings"
)

// Passphrases gives that of each keystore, in their order. One line is that of all; where there are more it is one each.
func (e EVM) Passphrases() []string {
	all := e.Passphrase.Reveal()
	if len(e.Keystore) < 2 {
		return []string{all}
	}
	lines := strings.Split(strings.ReplaceAll(all, "\r\n", "\n"), "\n")
	if len(lines) == 1 {
		return slices.Repeat(lines, len(e.Keystore))
	}
	return lines
}

// signer wants exactly one: keystores, or a remote signer with its kind and addresses.
func (v *validator) signer(at string, e EVM) {
	set := func(name string) bool { return v.cfg.from[at+name] != "" }
	if set("signer-url") || set("signer-url-file") || set("signer-url-env") {
		v.remote(at, e)
		return
	}
	v.check(len(e.Keystore) > 0, at+"keystore", "", "a keystore file of go-ethereum, or signer-url")
	v.check(e.SignerKind == "", at+"signer-kind", e.SignerKind, "nothing without signer-url")
	v.check(len(e.SignerAddress) == 0, at+"signer-address", strings.Join(e.SignerAddress, ","), "nothing without signer-url")
	each := len(e.Keystore) == 0 || v.unread(at+"passphrase") || len(e.Passphrases()) == len(e.Keystore)
	v.check(each, at+"passphrase", hidden, "one of all keystores, or a line for each in their order")
}

func (v *validator) remote(at string, e EVM) {
	v.check(len(e.Keystore) == 0, at+"keystore", strings.Join(e.Keystore, ","), "nothing beside signer-url")
	v.url(at+"signer-url", e.SignerURL, "http", "https")
	v.check(e.SignerKind == "clef" || e.SignerKind == "web3signer", at+"signer-kind", e.SignerKind, "clef or web3signer")
	v.check(len(e.SignerAddress) > 0, at+"signer-address", "", "the account it signs for, or several")
	for _, a := range e.SignerAddress {
		v.check(isAddress(a), at+"signer-address", a, "an address: 0x and 40 hex digits")
	}
}
