package builtin

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// spend accounts for work on numbers of these sizes, which grows with the
// product of their lengths, and refuses what is out of bounds.
func (e *evaluator) spend(bits ...int) error {
	cost := 1
	for _, b := range bits {
		if b > maxBits {
			return errTooLarge
		}
		cost *= 1 + b/64
	}
	return e.charge(cost)
}

func (e *evaluator) charge(cost int) error {
	e.work += cost
	if e.work > maxWork {
		return errTooMuch
	}
	return e.ctxErr()
}

func (e *evaluator) binary(op byte, a, b number) (number, error) {
	if err := e.spend(a.bits(), b.bits()); err != nil {
		return number{}, err
	}
	r := new(big.Rat)
	switch op {
	case '+':
		r.Add(a.rat, b.rat)
	case '-':
		r.Sub(a.rat, b.rat)
	case '*':
		r.Mul(a.rat, b.rat)
	case '/':
		if b.rat.Sign() == 0 {
			return number{}, errZero
		}
		r.Quo(a.rat, b.rat)
	case '%':
		return e.remainder(a, b)
	case '^':
		return e.raise(a, b)
	}
	n := like(r, a, b)
	return n, e.spend(n.bits())
}

// remainder has the sign of the divisor, like the mathematical modulus.
func (e *evaluator) remainder(a, b number) (number, error) {
	if b.rat.Sign() == 0 {
		return number{}, errZero
	}
	q := new(big.Rat).Quo(a.rat, b.rat)
	q.SetInt(floor(q))
	n := like(q.Sub(a.rat, q.Mul(q, b.rat)), a, b)
	return n, e.spend(n.bits())
}

func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

func (e *evaluator) raise(a, b number) (number, error) {
	if a.rat.Sign() == 0 && b.rat.Sign() < 0 {
		return number{}, errZero
	}
	if !b.rat.IsInt() {
		return e.fractionalPower(a, b)
	}
	one := a.rat.IsInt() && a.rat.Num().IsInt64() && a.rat.Num().Int64()*a.rat.Num().Int64() <= 1
	if one { // 0, 1, -1
		if b.rat.Sign() == 0 || (a.rat.Num().Int64() == -1 && b.rat.Num().Bit(0) == 0) {
			return like(big.NewRat(1, 1), a, b), nil
		}
		return like(a.rat, a, b), nil
	}
	k, ok := b.small(maxBits)
	if !ok || int64(a.bits()-1)*abs(k) > maxBits {
		return number{}, errTooLarge
	}
	if err := e.spend(a.bits()*int(abs(k)), a.bits()*int(abs(k))); err != nil {
		return number{}, err
	}
	p := big.NewInt(abs(k))
	r := new(big.Rat).SetFrac(new(big.Int).Exp(a.rat.Num(), p, nil), new(big.Int).Exp(a.rat.Denom(), p, nil))
	if k < 0 {
		r.Inv(r)
	}
	return like(r, a, b), nil
}

func abs(k int64) int64 { return max(k, -k) }

// fractionalPower is exact where a square root is.
func (e *evaluator) fractionalPower(a, b number) (number, error) {
	if a.rat.Sign() < 0 {
		return number{}, errors.New("a fractional power of a negative number is not real")
	}
	if b.rat.Cmp(big.NewRat(1, 2)) == 0 {
		return e.squareRoot(a)
	}
	if a.rat.Sign() == 0 {
		return integer(0), nil
	}
	y, err := b.decimal(precision + 10)
	if err != nil {
		return number{}, err
	}
	return e.approximate(a, func(c *apd.Context, d, x *apd.Decimal) error { _, err := c.Pow(d, x, y); return err })
}

func (e *evaluator) squareRoot(a number) (number, error) {
	if a.rat.Sign() < 0 {
		return number{}, errors.New("the square root of a negative number is not real")
	}
	p, q := new(big.Int).Sqrt(a.rat.Num()), new(big.Int).Sqrt(a.rat.Denom())
	r := new(big.Rat).SetFrac(p, q)
	if new(big.Rat).Mul(r, r).Cmp(a.rat) == 0 {
		return like(r, a), nil
	}
	return e.approximate(a, func(c *apd.Context, d, x *apd.Decimal) error { _, err := c.Sqrt(d, x); return err })
}

func (e *evaluator) factorial(n number) (number, error) {
	k, ok := n.small(maxFactorial)
	if !ok || k < 0 {
		return number{}, fmt.Errorf("a factorial is of a whole number from 0 to %d", maxFactorial)
	}
	size := int(k) * bitLen(k)
	if err := e.spend(min(size, maxBits), min(size, maxBits)); err != nil {
		return number{}, err
	}
	return like(new(big.Rat).SetInt(new(big.Int).MulRange(1, k)), n), nil
}

func bitLen(k int64) int { return big.NewInt(k).BitLen() }

func constant(name string) (number, bool) {
	digits, ok := map[string]string{
		"pi": "3.14159265358979323846264338327950288419716939937510582",
		"e":  "2.71828182845904523536028747135266249775724709369995957",
	}[name]
	if !ok {
		return number{}, false
	}
	r, _ := new(big.Rat).SetString(digits)
	return number{rat: r, digits: shownDigits}, true
}

func degree() number {
	pi, _ := constant("pi")
	return number{rat: new(big.Rat).Quo(pi.rat, big.NewRat(180, 1)), digits: pi.digits}
}

// function is what a name with parentheses stands for.
type function struct {
	least, most int // arguments; most < 0: any number
	apply       func(e *evaluator, a []number) (number, error)
}

// call applies a function to its arguments.
func (e *evaluator) call(name string, args []number) (number, error) {
	all := functions()
	f, ok := all[name]
	if !ok {
		return number{}, fmt.Errorf("there is no function %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	if len(args) < f.least || (f.most >= 0 && len(args) > f.most) {
		return number{}, fmt.Errorf("%s has the wrong number of arguments (%d)", name, len(args))
	}
	for _, a := range args {
		if err := e.spend(a.bits(), a.bits()); err != nil {
			return number{}, err
		}
	}
	return f.apply(e, args)
}

func functions() map[string]function {
	one := func(f func(e *evaluator, n number) (number, error)) function {
		return function{1, 1, func(e *evaluator, a []number) (number, error) { return f(e, a[0]) }}
	}
	float := func(f func(float64) float64) function {
		return one(func(_ *evaluator, n number) (number, error) { return floating(n, f) })
	}
	rounding := func(f func(r *big.Rat) *big.Int) function {
		return one(func(_ *evaluator, n number) (number, error) { return exact(new(big.Rat).SetInt(f(n.rat))), nil })
	}
	return map[string]function{
		"abs":   one(func(_ *evaluator, n number) (number, error) { return like(new(big.Rat).Abs(n.rat), n), nil }),
		"floor": rounding(floor),
		"ceil":  rounding(func(r *big.Rat) *big.Int { f := floor(new(big.Rat).Neg(r)); return f.Neg(f) }),
		"trunc": rounding(func(r *big.Rat) *big.Int { return new(big.Int).Quo(r.Num(), r.Denom()) }),
		"round": {1, 2, (*evaluator).round},
		"sqrt":  one((*evaluator).squareRoot),
		"cbrt":  one((*evaluator).cubeRoot),
		"exp":   one((*evaluator).exponential), "ln": one((*evaluator).naturalLogarithm), "log": {1, 2, (*evaluator).logarithm},
		"log10": one(func(e *evaluator, n number) (number, error) { return e.logarithm([]number{n}) }),
		"log2":  one(func(e *evaluator, n number) (number, error) { return e.logarithm([]number{n, integer(2)}) }),
		"sin":   float(math.Sin), "cos": float(math.Cos), "tan": float(math.Tan),
		"asin": float(math.Asin), "acos": float(math.Acos), "atan": float(math.Atan),
		"min": {1, -1, func(_ *evaluator, a []number) (number, error) { return slices.MinFunc(a, compare), nil }},
		"max": {1, -1, func(_ *evaluator, a []number) (number, error) { return slices.MaxFunc(a, compare), nil }},
		"sum": {1, -1, (*evaluator).total}, "avg": {1, -1, (*evaluator).average},
		"mod":       {2, 2, func(e *evaluator, a []number) (number, error) { return e.binary('%', a[0], a[1]) }},
		"pow":       {2, 2, func(e *evaluator, a []number) (number, error) { return e.binary('^', a[0], a[1]) }},
		"gcd":       {2, -1, func(_ *evaluator, a []number) (number, error) { return fold(a, gcd) }},
		"lcm":       {2, -1, (*evaluator).leastMultiple},
		"factorial": one((*evaluator).factorial),
		"binomial":  {2, 2, (*evaluator).binomial},
	}
}

func compare(a, b number) int { return a.rat.Cmp(b.rat) }
