package embedded

import (
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// numbered executes a numbered call on n items. A repeated call changes nothing and gets the
// answer of the first time. A call with a lower number than the caller's last call changes
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
