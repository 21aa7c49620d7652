package contexts

import "context"

type callerKey struct{}

// With returns a context that says who calls, for handlers of requests.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, callerKey{}, p)
}

// Caller is who calls, as With has it. Without, it is nobody, who sees nothing.
func Caller(ctx context.Context) Principal {
	p, _ := ctx.Value(callerKey{}).(Principal)
	return p
}
