package builtin

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const mathHelp = `An arithmetic expression, for example "17*23", "(1/3 + 1/6) * 12", "2^100", "20!", "15% of 80", "sqrt(2)", "1,234.56 * 3". ` +
	`Operators: + - * / ^ (power), % (percent after a number, remainder between two: "17 % 5"), ! (factorial), ° (degrees), parentheses. ` +
	`Functions: sqrt, cbrt, abs, floor, ceil, round(x, digits), trunc, min, max, sum, avg, gcd, lcm, mod, pow, exp, ln, log (base 10, or log(x, base)), log2, sin, cos, tan, asin, acos, atan (radians), binomial(n, k). Constants: pi, e.`

func newMath() *server.MCPServer {
	s := newServer("math", "Exact arithmetic on numbers.")
	t := mcp.NewTool("calculate",
		mcp.WithDescription("Calculates an arithmetic expression exactly: integers of any size, fractions and decimals without rounding errors. Roots, logarithms and angles that are not exact are given to many digits and marked with ≈."),
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
