// Answers of the API that a page needs while it is shown.

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Problem } from "./api";

export interface Loaded<T> {
  value?: T; // the last answer; it is kept while another is on its way
  problem?: Problem;
  loading: boolean;
}

// useLoaded calls load whenever one of the values that it depends on changes, and drops answers
// that have been overtaken. The request is on its way before the page is painted.
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, on: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Loaded<T>>({ loading: true });
  useLayoutEffect(() => {
    const stop = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    load(stop.signal).then(
      (value) => stop.signal.aborted || setState({ value, loading: false }),
      (error: unknown) => stop.signal.aborted || setState((before) => ({ value: before.value, problem: toProblem(error), loading: false })),
    );
    return () => stop.abort();
  }, on);
  return state;
}

export function toProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, "internal", String(error));
}

// useTick returns a number that grows every so often, while updates are not held.
export function useTick(everyMS: number, held: boolean): number {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    if (held) return;
    const timer = setInterval(() => setTick((n) => n + 1), everyMS);
    return () => clearInterval(timer);
  }, [everyMS, held]);
  return tick;
}
