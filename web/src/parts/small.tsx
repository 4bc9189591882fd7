// Small parts: states, times, numbers, notices.

import type { ComponentChildren } from "preact";
import type { Problem, State } from "../data/api";
import { count, exact, relative } from "../data/format";
import { now } from "../data/live";

export function StateName({ state }: { state: State }) {
  return <span class="state" data-state={state}>{state}</span>;
}

// Instant shows a time as seen from now; the exact one is its title.
export function Instant({ at }: { at: string | undefined }) {
  if (!at) return <span class="muted">–</span>;
  const date = new Date(at);
  return <time class="nowrap" dateTime={at} title={exact(date)}>{relative(date.getTime(), now.value)}</time>;
}

// ExactInstant shows both.
export function ExactInstant({ at }: { at: string | undefined }) {
  if (!at) return <span class="muted">–</span>;
  return <>{exact(new Date(at))} <span class="muted">(<Instant at={at} />)</span></>;
}

export function Number({ n }: { n: number }) {
  return <span class={n === 0 ? "zero" : undefined}>{count(n)}</span>;
}

export function ProblemNotice({ problem, retry }: { problem: Problem | undefined; retry?: () => void }) {
  if (!problem) return null;
  return (
    <p class="notice bad" role="alert">
      <span>{sentence(problem)}</span>
      {retry && <button onClick={retry}>Try again</button>}
    </p>
  );
}

// sentence says what went wrong in words for people.
export function sentence(problem: Problem): string {
  switch (problem.code) {
    case "not_found": return "There is no such queue or message (any more).";
    case "forbidden": return "This token does not allow that.";
    case "unavailable": return "The store does not answer.";
    case "unreachable": return "The server does not answer.";
    case "running": return "A consumer holds the message at this moment. It was asked to stop.";
    default: return problem.message;
  }
}

// Empty takes the place of what is not there. Alone on a page its title is that of the page.
export function Empty({ title, alone, children }: { title: string; alone?: boolean; children?: ComponentChildren }) {
  return <div class="empty">{alone ? <h1>{title}</h1> : <h2>{title}</h2>}{children}</div>;
}
