package dueqhttp

import (
	"errors"
	"net/http"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// forecast is how many messages become due when.
type forecast struct {
	Step   string  `json:"step"`
	Ready  int64   `json:"ready"`
	Counts []int64 `json:"counts"`
	Later  int64   `json:"later"`
}

// The spans of a forecast for which a request does not ask: the minutes of the next hour.
const (
	forecastStep  = time.Minute
	forecastSpans = 60
)

// serveForecast returns how many messages become due in the next spans of time.
func serveForecast(c *call) error {
	q, err := c.queue()
	if err == nil {
		err = c.onlyQuery("step", "spans")
	}
	if err != nil {
		return err
	}
	step, spans, err := c.spans()
	if err != nil {
		return err
	}
	f, err := q.Forecast(c.r.Context(), step, spans)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, forecast{Step: f.Step.String(), Ready: f.Ready, Counts: f.Counts, Later: f.Later})
}

// spans returns for which spans the caller wants a forecast.
func (c *call) spans() (step time.Duration, spans int, err error) {
	step, spans = forecastStep, forecastSpans
	query := c.r.URL.Query()
	if text := query.Get("step"); text != "" {
		if step, err = span("step", text); err != nil {
			return 0, 0, err
		}
	}
	if text := query.Get("spans"); text != "" {
		if spans, err = number("spans", text); err != nil {
			return 0, 0, err
		}
	}
	return step, spans, store.ForecastRequest{Step: step.Milliseconds(), Spans: spans}.Validate()
}

// allForecast is how many messages of a page of queues become due when.
type allForecast struct {
	forecast
	Queues int    `json:"queues"`         // of the page
	Next   string `json:"next,omitempty"` // after, for the next page
}

// serveAllForecast returns the forecasts of the queues of a page, added.
func serveAllForecast(c *call) error {
	if err := c.onlyQuery("step", "spans", "after", "limit", "queue..."); err != nil {
		return err
	}
	step, spans, err := c.spans()
	if err != nil {
		return err
	}
	selected, err := c.selected()
	if err != nil {
		return err
	}
	names, next, err := c.queuePage(selected)
	if err != nil {
		return err
	}
	sum := allForecast{forecast: forecast{Step: step.String(), Counts: make([]int64, spans)}, Next: next}
	found, err := ofEach(names, func(name string) (*dueq.Forecast, error) {
		f, err := c.client.Queue(name).Forecast(c.r.Context(), step, spans)
		if errors.Is(err, dueq.ErrNotFound) {
			return nil, nil //nolint:nilnil // it is being made, or was removed meanwhile
		}
		return &f, err
	})
	if err != nil {
		return err
	}
	for _, f := range found {
		if f != nil {
			sum.add(f)
		}
	}
	return c.answer(http.StatusOK, sum)
}

func (s *allForecast) add(f *dueq.Forecast) {
	s.Queues++
	s.Ready += f.Ready
	s.Later += f.Later
	for i, n := range f.Counts {
		s.Counts[i] += n
	}
}
