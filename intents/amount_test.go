package intents_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"pgregory.net/rapid"
)

// badAmounts are case 8: each reads as some number somewhere.
func badAmounts() []string {
	return []string{
		"", "0", "00", "-1", "-0", "+5", "1.5", "1.0", "1e18", "1E18", "0x10", "010", "1_000", " 7", "7 ", "7\n", "1,000", "७", "١", "\uff17",
		"NaN", "Inf", "0b1", "1/2", strings.Repeat("9", 79), strings.Repeat("1", 10_000),
	}
}

func TestCase8ParseAmountHasOneGrammar(t *testing.T) {
	for _, s := range badAmounts() {
		a, err := intents.ParseAmount(s)
		wantInvalid(t, err, "amount")
		if a.Sign() != 0 {
			t.Errorf("ParseAmount(%q) gives %v beside its error", s, a)
		}
	}
}

// Cases 5 and 6: no float64 and no uint64 on the way.
func TestCases5And6AmountsAreExact(t *testing.T) {
	for _, s := range []string{"1", "9007199254740993", "18446744073709551616", "33066915805160912602", strings.Repeat("9", 78)} {
		a, err := intents.ParseAmount(s)
		if err != nil {
			t.Fatal(err)
		}
		value, _ := a.Value()
		shown, _ := json.Marshal(a)
		if a.String() != s || value != s || string(shown) != `"`+s+`"` {
			t.Errorf("%s becomes %s, %v in SQL, %s in JSON", s, a, value, shown)
		}
		for _, src := range []any{s, []byte(s)} {
			var back intents.Amount
			if err := back.Scan(src); err != nil || !back.Equal(a) {
				t.Errorf("Scan(%T %s) = %s, %v", src, s, back, err)
			}
		}
	}
}

func TestAmountArithmeticIsThatOfBigInt(t *testing.T) {
	number := rapid.Custom(func(t *rapid.T) *big.Int {
		i := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 33).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "negative") {
			i.Neg(i)
		}
		return i
	})
	rapid.Check(t, func(t *rapid.T) {
		x, y := number.Draw(t, "x"), number.Draw(t, "y")
		a, b := intents.AmountOf(x), intents.AmountOf(y)
		same := func(what string, got intents.Amount, want *big.Int) {
			if got.Big().Cmp(want) != 0 {
				t.Errorf("%s: got %s, want %s", what, got, want)
			}
		}
		same("add", a.Add(b), new(big.Int).Add(x, y))
		same("sub", a.Sub(b), new(big.Int).Sub(x, y))
		same("neg", a.Neg(), new(big.Int).Neg(x))
		if a.Cmp(b) != x.Cmp(y) || a.Equal(b) != (x.Cmp(y) == 0) || a.Sign() != x.Sign() {
			t.Errorf("%s and %s compare otherwise", a, b)
		}
		var back intents.Amount
		text, _ := a.MarshalText()
		if err := back.UnmarshalText(text); err != nil || !back.Equal(a) {
			t.Errorf("%s comes back as %s, %v", a, back, err)
		}
	})
}

func TestAmountsDoNotChange(t *testing.T) {
	source := big.NewInt(7)
	a := intents.AmountOf(source)
	b := a
	source.SetInt64(8)
	a.Big().SetInt64(9)
	_ = a.Add(intents.NewAmount(1))
	_ = a.Neg()
	if err := a.UnmarshalText([]byte("10")); err != nil {
		t.Fatal(err)
	}
	if b.String() != "7" {
		t.Errorf("the amount became %s", b)
	}
}

func TestZeroAmountWorks(t *testing.T) {
	var a intents.Amount
	if a.String() != "0" || a.Sign() != 0 || !a.Equal(intents.NewAmount(0)) || !intents.AmountOf(nil).Equal(a) || !a.Add(intents.NewAmount(3)).Equal(intents.NewAmount(3)) {
		t.Error("the zero value is not 0")
	}
	b := intents.NewAmount(5)
	if err := b.Scan(nil); err != nil || b.Sign() != 0 {
		t.Errorf("Scan(nil) = %s, %v", b, err)
	}
	if err := b.Scan(int64(-4)); err != nil || b.String() != "-4" {
		t.Errorf("Scan(int64) = %s, %v", b, err)
	}
}

func TestScanRefusesWhatIsNoWholeNumber(t *testing.T) {
	for _, src := range []any{1.5, true, "1.5", []byte("NaN"), ""} {
		var a intents.Amount
		if err := a.Scan(src); err == nil {
			t.Errorf("Scan(%T %v) = %s, want an error", src, src, a)
		}
	}
}

func pow10(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }
