package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Payment settles an order.
type Payment struct {
	Number   string    `json:"payment" jsonschema:"such as PAY-4QX9BM"`
	Order    string    `json:"order"`
	Amount   int       `json:"amount"`
	Currency string    `json:"currency"`
	PaidAt   time.Time `json:"paid_at"`
}

type paymentOrder struct {
	Order    string  `json:"order"`
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

func (a *agency) paymentTools() []server.ServerTool {
	return []server.ServerTool{
		handle(a.processPayment, mcp.NewTool("process_payment", destroys,
			mcp.WithDescription("Pays an order in full from the account that the agency has on file, once. The amount and the currency must be those of the order. (In this example no money moves.)"),
			order(),
			mcp.WithNumber("amount", mcp.Required(), mcp.Min(0.01), mcp.Description("the order's total")),
			mcp.WithString("currency", mcp.Required(), mcp.Enum("USD", "CNY", "EUR", "RUB"), mcp.Description("the order's currency")))),
	}
}

func (a *agency) processPayment(ctx context.Context, p paymentOrder) (Payment, error) {
	var done Payment
	err := a.file.change(ctx, func(l *database) error {
		o, err := l.order(p.Order)
		switch {
		case err != nil:
			return err
		case o.Cancelled != nil:
			return fmt.Errorf("order %s is cancelled: nothing was paid", o.Number)
		case o.Payment != nil:
			return fmt.Errorf("order %s is paid already: %d %s by %s at %s; nothing was paid again",
				o.Number, o.Payment.Amount, o.Currency, o.Payment.Number, o.Payment.PaidAt.Format(time.RFC3339))
		case p.Amount != float64(o.Total) || p.Currency != o.Currency:
			return fmt.Errorf("order %s costs %d %s, not %v %s: nothing was paid; tell the person the right amount before you pay it",
				o.Number, o.Total, o.Currency, p.Amount, p.Currency)
		}
		done = Payment{Order: o.Number, Amount: o.Total, Currency: o.Currency, PaidAt: a.now().UTC().Truncate(time.Second)}
		done.Number = newNumber("PAY", func(n string) bool {
			for _, o := range l.Orders {
				if o.Payment != nil && o.Payment.Number == n {
					return true
				}
			}
			return false
		})
		o.Status, o.Payment = paid, &done
		return nil
	})
	return done, err
}
