package builtin

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/cockroachdb/apd/v3"
)

// round rounds half away from zero, to a number of decimal places.
func (e *evaluator) round(a []number) (number, error) {
	places := int64(0)
	if len(a) == 2 {
		var ok bool
		if places, ok = a[1].small(10_000); !ok {
			return number{}, errors.New("round takes a whole number of digits from -10000 to 10000")
		}
	}
	scale, err := e.raise(integer(10), integer(places))
	if err != nil {
		return number{}, err
	}
	r := new(big.Rat).Mul(new(big.Rat).Abs(a[0].rat), scale.rat)
	r.SetInt(floor(r.Add(r, big.NewRat(1, 2))))
	if a[0].rat.Sign() < 0 {
		r.Neg(r)
	}
	return exact(r.Quo(r, scale.rat)), nil
}

func (e *evaluator) cubeRoot(n number) (number, error) {
	c, err := e.approximate(n, func(c *apd.Context, d, x *apd.Decimal) error { _, err := c.Cbrt(d, x); return err })
	if err != nil {
		return number{}, err
	}
	if r := new(big.Rat).SetInt(floor(new(big.Rat).Add(c.rat, big.NewRat(1, 2)))); new(big.Rat).Mul(r, new(big.Rat).Mul(r, r)).Cmp(n.rat) == 0 {
		return like(r, n), nil
	}
	return c, nil
}

func (e *evaluator) exponential(n number) (number, error) {
	if n.rat.Cmp(big.NewRat(20_000, 1)) > 0 || n.rat.Cmp(big.NewRat(-20_000, 1)) < 0 {
		return number{}, errTooLarge
	}
	return e.approximate(n, func(c *apd.Context, d, x *apd.Decimal) error { _, err := c.Exp(d, x); return err })
}

func ln(c *apd.Context, d, x *apd.Decimal) error { _, err := c.Ln(d, x); return err }

func (e *evaluator) naturalLogarithm(n number) (number, error) {
	if n.rat.Sign() <= 0 {
		return number{}, errors.New("a logarithm is of a positive number")
	}
	return e.approximate(n, ln)
}

// logarithm is exact where the value is a whole power of the base.
func (e *evaluator) logarithm(a []number) (number, error) {
	base := integer(10)
	if len(a) == 2 {
		base = a[1]
	}
	if a[0].rat.Sign() <= 0 || base.rat.Sign() <= 0 || base.rat.Cmp(big.NewRat(1, 1)) == 0 {
		return number{}, errors.New("a logarithm is of a positive number to a positive base other than 1")
	}
	p, err := e.approximate(a[0], ln)
	if err != nil {
		return number{}, err
	}
	q, err := e.approximate(base, ln)
	if err != nil {
		return number{}, err
	}
	r := like(new(big.Rat).Quo(p.rat, q.rat), p, q)
	whole := exact(new(big.Rat).SetInt(floor(new(big.Rat).Add(r.rat, big.NewRat(1, 2)))))
	if power, err := e.raise(base, whole); err == nil && power.rat.Cmp(a[0].rat) == 0 {
		return like(whole.rat, a...), nil
	}
	return r, nil
}

func (e *evaluator) total(a []number) (number, error) {
	sum := integer(0)
	var err error
	for _, n := range a {
		if sum, err = e.binary('+', sum, n); err != nil {
			return number{}, err
		}
	}
	return sum, nil
}

func (e *evaluator) average(a []number) (number, error) {
	sum, err := e.total(a)
	if err != nil {
		return number{}, err
	}
	return e.binary('/', sum, integer(int64(len(a))))
}

func gcd(a, b *big.Int) *big.Int {
	return new(big.Int).GCD(nil, nil, new(big.Int).Abs(a), new(big.Int).Abs(b))
}

// fold applies f to whole numbers from left to right.
func fold(a []number, f func(a, b *big.Int) *big.Int) (number, error) {
	acc, ok := a[0].whole()
	for _, n := range a[1:] {
		m, is := n.whole()
		if !ok || !is {
			return number{}, errors.New("gcd and lcm are of whole numbers")
		}
		acc = f(acc, m)
	}
	return like(new(big.Rat).SetInt(acc), a...), nil
}

func (e *evaluator) leastMultiple(a []number) (number, error) {
	size := 0
	for _, n := range a {
		size += n.bits()
	}
	if err := e.spend(size, size); err != nil {
		return number{}, err
	}
	return fold(a, func(a, b *big.Int) *big.Int {
		g := gcd(a, b)
		if g.Sign() == 0 {
			return g
		}
		l := new(big.Int).Quo(a, g)
		return l.Abs(l.Mul(l, b))
	})
}

func (e *evaluator) binomial(a []number) (number, error) {
	n, ok := a[0].small(maxFactorial)
	k, is := a[1].small(maxFactorial)
	if !ok || !is || n < 0 || k < 0 {
		return number{}, fmt.Errorf("binomial is of whole numbers from 0 to %d", maxFactorial)
	}
	if err := e.spend(int(n)*2, int(n)*2); err != nil {
		return number{}, err
	}
	return like(new(big.Rat).SetInt(new(big.Int).Binomial(n, k)), a...), nil
}
