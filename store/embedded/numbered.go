package embedded

import (
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// numbered does a call on n items that its caller numbers, unless it was done before: then
// the answer is that of the first time. A call that is older than the caller's last does
// nothing and is stale.
func (p *partition) numbered(caller string, number uint64, n int, now instant, do func() []store.PushResult) []store.PushResult {
	answer, novelty := p.managers.recall(caller, number, now)
	switch novelty {
	case repeated:
		return answer.again()
	case outdated:
		return slices.Repeat([]store.PushResult{{Code: store.CodeStale}}, n)
	case fresh:
	}
	results := do()
	p.rememberManaged(caller, number, rememberedResults(results), now)
	return results
}

func codesOf(results []store.PushResult) []store.Code {
	codes := make([]store.Code, len(results))
	for i := range results {
		codes[i] = results[i].Code
	}
	return codes
}
