package builtin

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// mathHelp is short, since each turn of a sub-task carries it; errors tell more.
const mathHelp = `Such as "(1/3 + 1/6) * 12", "15% of 80", "round(2/3, 4)". ` +
	`Operators + - * / ^ % ! °; sqrt, cbrt, abs, floor, ceil, min, max, sum, avg, gcd, lcm, mod, exp, ln, log(x, base), sin, cos, tan (radians), binomial(n, k), pi, e.`

func newMath() *server.MCPServer {
	s := newServer("math", "Exact arithmetic on numbers.")
	t := mcp.NewTool("calculate",
		mcp.WithDescription("Calculates exactly, numbers of any size. ≈ marks what is not exact."),
		mcp.WithTitleAnnotation("Calculate"),
		mcp.WithString("expression", mcp.Required(), mcp.Description(mathHelp), mcp.MaxLength(maxExpression)),
		mcp.WithSchemaAdditionalProperties(false),
	)
	add(s, t, func(ctx context.Context, r mcp.CallToolRequest) (string, error) {
		expression := r.GetString("expression", "")
		v, err := evaluate(ctx, expression)
		if err != nil {
			return "", fmt.Errorf("the expression cannot be calculated: %w", err)
		}
		return v.String(), nil
	})
	return s
}
