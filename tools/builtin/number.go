package builtin

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// Bounds that keep hostile expressions cheap.
const (
	maxBits      = 332_193     // of a numerator or denominator: 100,000 decimal digits
	maxWork      = 500_000_000 // word operations of one evaluation, estimated
	maxFactorial = 20_000
	precision    = 40 // digits that roots and logarithms are calculated to
	shownDigits  = 30 // digits of them that are shown
)

var (
	errTooLarge = errors.New("a number in it has more than 100,000 digits")
	errTooMuch  = errors.New("it takes too long")
	errZero     = errors.New("division by zero")
)

// number is a rational number. When it only approximates the value, digits says
// how many decimal digits of it can be shown.
type number struct {
	rat    *big.Rat
	digits int // 0: exact
}

func exact(r *big.Rat) number { return number{rat: r} }

func integer(n int64) number { return exact(new(big.Rat).SetInt64(n)) }

// like marks n as no more exact than the operands.
func like(r *big.Rat, operands ...number) number {
	n := exact(r)
	for _, o := range operands {
		if o.digits > 0 && (n.digits == 0 || o.digits < n.digits) {
			n.digits = o.digits
		}
	}
	return n
}

func (n number) bits() int { return max(n.rat.Num().BitLen(), n.rat.Denom().BitLen()) }

// whole is the value as an integer, if it is one.
func (n number) whole() (*big.Int, bool) { return n.rat.Num(), n.rat.IsInt() }

// small is the value as an int between -limit and limit, if it is one.
func (n number) small(limit int64) (int64, bool) {
	i, ok := n.whole()
	if !ok || !i.IsInt64() || i.Int64() > limit || i.Int64() < -limit {
		return 0, false
	}
	return i.Int64(), true
}

// String is what a model reads: "391", "0.125", "1/3 (≈ 0.333...)", "≈ 1.414...".
func (n number) String() string {
	if n.digits > 0 {
		return "≈ " + n.approximately(n.digits)
	}
	if n.rat.IsInt() {
		return n.rat.Num().String()
	}
	if places, finite := n.rat.FloatPrec(); finite && places <= 200 {
		return n.rat.FloatString(places)
	}
	return n.rat.RatString() + " (≈ " + n.approximately(shownDigits) + ")"
}

// approximately is the value rounded to significant digits, without trailing
// zeros; very large and very small ones in scientific notation.
func (n number) approximately(digits int) string {
	d, err := n.decimal(uint32(digits))
	if err != nil {
		return n.rat.FloatString(digits)
	}
	d.Reduce(d)
	exponent := int(d.Exponent) + int(d.NumDigits()) - 1
	if exponent > 30 || exponent < -15 {
		return d.Text('e')
	}
	return d.Text('f')
}

// decimal is the value to so many significant digits.
func (n number) decimal(digits uint32) (*apd.Decimal, error) {
	num, _, err := apd.NewFromString(n.rat.Num().String())
	if err != nil {
		return nil, err
	}
	den, _, err := apd.NewFromString(n.rat.Denom().String())
	if err != nil {
		return nil, err
	}
	d := new(apd.Decimal)
	_, err = working(digits).Quo(d, num, den)
	return d, err
}

func working(digits uint32) *apd.Context {
	c := apd.BaseContext.WithPrecision(digits)
	c.MaxExponent, c.MinExponent = apd.MaxExponent, apd.MinExponent
	c.Traps = apd.InvalidOperation | apd.DivisionByZero | apd.Overflow | apd.DivisionUndefined | apd.DivisionImpossible
	return c
}

// approximate applies a function of the decimal library, which costs more than
// a multiplication of numbers of that size.
func (e *evaluator) approximate(n number, f func(c *apd.Context, d, x *apd.Decimal) error) (number, error) {
	words := 1 + n.bits()/64
	if err := e.charge(10_000_000 + 4*words*words); err != nil {
		return number{}, err
	}
	x, err := n.decimal(precision + 10)
	if err != nil {
		return number{}, err
	}
	d := new(apd.Decimal)
	if err := f(working(precision), d, x); err != nil {
		return number{}, err
	}
	if d.Form != apd.Finite || d.Exponent > maxBits/4 || d.Exponent < -maxBits/4 {
		return number{}, errTooLarge
	}
	r, ok := new(big.Rat).SetString(d.Text('e'))
	if !ok {
		return number{}, errors.New("a function has no value there")
	}
	res := like(r, n)
	if res.digits == 0 || res.digits > shownDigits {
		res.digits = shownDigits
	}
	return res, nil
}

// floating applies a function of 64-bit floating point numbers.
func floating(n number, f func(float64) float64) (number, error) {
	x, _ := n.rat.Float64()
	y := f(x)
	if math.IsNaN(y) || math.IsInf(y, 0) {
		return number{}, errors.New("a function has no value there")
	}
	if math.Abs(y) < 1e-15 {
		y = 0
	}
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(y, 'e', 14, 64))
	if !ok {
		return number{}, errors.New("a function has no value there")
	}
	return number{rat: r, digits: 14}, nil
}

// parseNumber reads "12", "1.5", ".5", "1e-3".
func (e *evaluator) parseNumber(s string) (number, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	if exponent != "" {
		tens, err := strconv.Atoi(exponent)
		if size := max(tens, -tens); err != nil || size > maxBits/4 {
			return number{}, errTooLarge
		} else if err := e.spend(size*4, size*4); err != nil {
			return number{}, err
		}
	}
	if mantissa == "" || mantissa == "." {
		return number{}, errors.New("a number is missing")
	}
	r, ok := new(big.Rat).SetString(strings.ToLower(s))
	if !ok {
		return number{}, errors.New("a number cannot be read: " + s)
	}
	return exact(r), nil
}
