package dueqtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqtest"
)

// shop is code under test.
type shop struct {
	orders *dueq.Queue
	paid   map[string]bool
}

func (s *shop) placeOrder(ctx context.Context, number string) error {
	_, err := s.orders.Send(ctx, dueq.Message{Key: number, Body: []byte(number), Delay: 30 * time.Minute})
	return err
}

func (s *shop) cancelIfUnpaid(_ context.Context, d *dueq.Delivery) error {
	if !s.paid[string(d.Body)] {
		fmt.Println("cancelled order", string(d.Body))
	}
	return nil
}

func Example() {
	test := func(tb testing.TB) {
		tb.Helper()
		q := dueqtest.New(tb)
		shop := &shop{orders: q.Queue("orders"), paid: map[string]bool{"1": true}}
		for _, number := range []string{"1", "2"} {
			if err := shop.placeOrder(tb.Context(), number); err != nil {
				tb.Fatal(err)
			}
		}
		q.AssertScheduled("orders", dueq.Key("2"), 30*time.Minute)
		q.AssertNothingDue("orders")

		q.Advance(30 * time.Minute)
		fmt.Println("delivered", q.Deliver("orders", shop.cancelIfUnpaid))
	}
	test(exampleT{})
	// Output:
	// cancelled order 2
	// delivered 2
}

func Example_recurring() {
	test := func(tb testing.TB) {
		tb.Helper()
		q := dueqtest.NewAt(tb, time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)) // a Friday
		q.Send("reports", dueq.Message{
			Key: "report", Repeat: dueq.Repeat{Cron: "0 9 * * 1-5", Zone: "UTC"},
		})
		for range 4 {
			q.Advance(24 * time.Hour)
			q.Deliver("reports", func(_ context.Context, d *dueq.Delivery) error {
				fmt.Println("report for", d.Due.UTC().Format(time.DateOnly))
				return nil
			})
		}
		q.AssertScheduled("reports", dueq.Key("report"), 21*time.Hour)
	}
	test(exampleT{})
	// Output:
	// report for 2026-11-23
	// report for 2026-11-24
}

// exampleT stands for the *testing.T that a real test has.
type exampleT struct{ testing.TB }

func (exampleT) Helper()                           {}
func (exampleT) Cleanup(func())                    {}
func (exampleT) Context() context.Context          { return context.Background() }
func (exampleT) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (exampleT) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (exampleT) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
