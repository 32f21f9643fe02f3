package evm

import (
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nsqrelayer/relayer/intents"
)

// Canonical gives the intent with its destination in EIP-55 form, as the function of that name does, and refuses data
// where the route does not take it.
func (s *Sender) Canonical(in intents.Intent) (intents.Intent, error) {
	if err := s.allowedData(in); err != nil {
		return in, err
	}
	return Canonical(in, s.cfg.AllowZero)
}

// Canonical gives the intent with its destination in EIP-55 form. All lower and all upper case after 0x are taken as
// they are; mixed case has to be the right checksum. Errors: *intents.InvalidError, also for the zero address unless
// it is allowed, and for data that is none.
func Canonical(in intents.Intent, allowZero bool) (intents.Intent, error) {
	to, err := address(in.Destination, allowZero)
	if err != nil {
		return in, err
	}
	if _, err := callData(in); err != nil {
		return in, err
	}
	in.Destination = to.Hex()
	return in, nil
}

// ParseAddress reads the address of a setting by the rules for destinations. Errors: *intents.InvalidError of that field.
func ParseAddress(field, text string) (common.Address, error) {
	a, err := address(text, false)
	if bad, ok := errors.AsType[*intents.InvalidError](err); ok {
		return a, &intents.InvalidError{Field: field, Value: text, Want: bad.Want}
	}
	return a, nil
}

func address(text string, allowZero bool) (common.Address, error) {
	invalid := func(want string) (common.Address, error) {
		return common.Address{}, &intents.InvalidError{Field: "destination", Value: text, Want: want}
	}
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok || len(digits) != 2*common.AddressLength || !common.IsHexAddress(text) {
		return invalid("an address: 0x and 40 hex digits")
	}
	a := common.HexToAddress(text)
	mixed := digits != strings.ToLower(digits) && digits != strings.ToUpper(digits)
	if mixed && text != a.Hex() {
		return invalid("an address with its EIP-55 checksum, or in one case")
	}
	if a == (common.Address{}) && !allowZero {
		return invalid("an address other than zero")
	}
	return a, nil
}
