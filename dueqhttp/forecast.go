package dueqhttp

import (
	"net/http"
	"time"
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
	step, spans, query := forecastStep, forecastSpans, c.r.URL.Query()
	if text := query.Get("step"); text != "" {
		if step, err = span("step", text); err != nil {
			return err
		}
	}
	if text := query.Get("spans"); text != "" {
		if spans, err = number("spans", text); err != nil {
			return err
		}
	}
	f, err := q.Forecast(c.r.Context(), step, spans)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, forecast{Step: f.Step.String(), Ready: f.Ready, Counts: f.Counts, Later: f.Later})
}
