package store

// MaxSpans is the highest ForecastRequest.Spans.
const MaxSpans = 100

// ForecastRequest asks how many messages become due when.
type ForecastRequest struct {
	Step  int64 `json:"step,omitzero"`  // ms: the length of a span; Step * Spans is at most MaxDelay
	Spans int   `json:"spans,omitzero"` // from now; 1 to MaxSpans
}

// Forecast is how many messages of a partition become due when. Those whose TTL ends before are
// among them.
type Forecast struct {
	Ready int64 `json:"ready,omitzero"` // due now
	// Counts are those that become due in each span: element i in more than i and at most i + 1
	// steps from now.
	Counts []int64 `json:"counts,omitzero"`
	Later  int64   `json:"later,omitzero"` // after the last span
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r ForecastRequest) Validate() error {
	if err := validateCount("spans", r.Spans, MaxSpans); err != nil {
		return err
	}
	if most := MaxDelay / int64(r.Spans); r.Step < 1 || r.Step > most {
		return Outside("step", ms(r.Step), "1 ms to %s for %d spans", ms(most), r.Spans)
	}
	return nil
}
