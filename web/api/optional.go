package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// optional is a number of a query that may be left out.
type optional struct {
	Value int
	given bool
}

// Receiver implements huma.ParamWrapper.
func (o *optional) Receiver() reflect.Value { return reflect.ValueOf(&o.Value).Elem() }

// OnParamSet implements huma.ParamReactor.
func (o *optional) OnParamSet(given bool, _ any) { o.given = given }

// Schema implements huma.SchemaProvider.
func (*optional) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Minimum: new(float64)}
}

// or is the number, or another where it was left out.
func (o *optional) or(other int) int {
	if o.given {
		return o.Value
	}
	return other
}
