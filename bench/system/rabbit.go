package system

import (
	"context"
	"errors"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dueq-dev/dueq/bench/peer"
)

// Rabbit is the delay that RabbitMQ has built in: messages with a time to live in a queue without
// consumers, which dead-letters into the queue that is consumed.
func Rabbit() peer.Entry {
	return peer.Entry{
		Info: peer.Info{
			Name: "rabbitmq", Title: "RabbitMQ, TTL + dead-letter exchange",
			Idea:     "Messages wait with a time to live in one queue; when it is over the broker moves them to another, which is consumed with manual acks.",
			Promise:  "at least once",
			Mind:     "Only the head of the waiting queue expires: a long delay in front holds back every shorter one behind it. No look-up and no cancel by id.",
			Settings: "classic queues, transient messages (the Redis here keeps nothing on disk either), publisher confirms, prefetch = concurrency",
			Server:   peer.Rabbit, Batch: true, Recovery: 10 * time.Second,
			Code: []string{"system/rabbit.go", "system/rabbitchannels.go"},
		},
		Open: openRabbit,
	}
}

// Names of the queues; the harness deletes them between measurements.
const (
	RabbitWaiting = "bench.waiting"
	RabbitWork    = "bench.work"
)

type rabbit struct {
	conn     *amqp.Connection
	channels channels // for publishing: the library requires that senders do not share one
}

func openRabbit(_ context.Context, env peer.Env) (peer.Queue, error) {
	conn, err := amqp.Dial(env.RabbitURL)
	if err != nil {
		return nil, err
	}
	q := &rabbit{conn: conn, channels: channels{conn: conn}}
	if err := q.declare(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return q, nil
}

// declare makes both queues; the default exchange routes by queue name.
func (q *rabbit) declare() error {
	ch, err := q.conn.Channel()
	if err != nil {
		return err
	}
	if _, err := ch.QueueDeclare(RabbitWork, true, false, false, false, nil); err != nil {
		return err
	}
	_, err = ch.QueueDeclare(RabbitWaiting, true, false, false, false, amqp.Table{
		"x-dead-letter-exchange": "", "x-dead-letter-routing-key": RabbitWork,
	})
	return errors.Join(err, ch.Close())
}

func (q *rabbit) Send(ctx context.Context, m peer.Message) error {
	return q.SendBatch(ctx, []peer.Message{m})
}

// SendBatch publishes all, then waits for the broker to confirm all.
func (q *rabbit) SendBatch(ctx context.Context, batch []peer.Message) error {
	ch, err := q.channels.get()
	if err != nil {
		return err
	}
	defer q.channels.put(ch)
	confirms := make([]*amqp.DeferredConfirmation, len(batch))
	for i, m := range batch {
		confirms[i], err = ch.PublishWithDeferredConfirmWithContext(ctx, "", RabbitWaiting, false, false, amqp.Publishing{
			Body: m.Body, Expiration: strconv.FormatInt(m.Delay().Milliseconds(), 10), DeliveryMode: amqp.Transient,
		})
		if err != nil {
			return err
		}
	}
	for _, c := range confirms {
		if ok, err := c.WaitContext(ctx); err != nil || !ok {
			return errors.Join(errors.New("not confirmed"), err)
		}
	}
	return nil
}

func (q *rabbit) Consume(ctx context.Context, c peer.Consumer, h peer.Handler) error {
	ch, err := q.conn.Channel()
	if err != nil {
		return err
	}
	defer func() { _ = ch.Close() }()
	if err := ch.Qos(c.Concurrency, 0, false); err != nil {
		return err
	}
	deliveries, err := ch.Consume(RabbitWork, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	w := newWorkers(c.Concurrency)
	defer w.wait()
	c.Listening()
	for {
		select {
		case <-ctx.Done():
			return nil
		case d, ok := <-deliveries:
			if !ok {
				return errors.New("the channel has ended")
			}
			w.do(func() {
				if h(ctx, d.Body) == nil {
					_ = d.Ack(false)
				}
			})
		}
	}
}

// Size counts waiting and ready messages; a broker does not count those that are held.
func (q *rabbit) Size(context.Context) (int, error) {
	ch, err := q.conn.Channel()
	if err != nil {
		return 0, err
	}
	total := 0
	for _, name := range []string{RabbitWaiting, RabbitWork} {
		state, err := ch.QueueDeclarePassive(name, true, false, false, false, nil)
		if err != nil {
			return 0, err
		}
		total += state.Messages
	}
	return total, ch.Close()
}

func (q *rabbit) Close() error { return q.conn.Close() }
