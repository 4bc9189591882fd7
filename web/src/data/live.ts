// The state of all queues while it changes, from the server's events.

import { computed, signal } from "@preact/signals";
import type { Change, QueueState } from "./api";
import { refreshSession } from "./session";

export type Connection = "connecting" | "live" | "held" | "lost" | "store";

export const queues = signal<ReadonlyMap<string, QueueState>>(new Map());
export const connection = signal<Connection>("connecting");
// known: the first event has arrived.
export const known = signal(false);
// now is the time of the last tick; while updates are held it stands still.
export const now = signal(Date.now());

// mostSamples is how far plots reach back: 10 minutes.
const mostSamples = 600;

export const measures = ["sent", "delivered", "acked", "nacked", "scheduled", "ready", "leased", "dead", "late"] as const;
export type Measure = (typeof measures)[number];
export type Series = { times: number[] } & Record<Measure, number[]>;

const empty = (): Series => ({
  times: [], sent: [], delivered: [], acked: [], nacked: [], scheduled: [], ready: [], leased: [], dead: [], late: [],
});

// seriesOf has the samples of each queue, and under "" those of all together.
const seriesOf = new Map<string, Series>();

export function series(queue: string): Series {
  let found = seriesOf.get(queue);
  if (!found) seriesOf.set(queue, (found = empty()));
  return found;
}

// receivedAt is when the state of each queue was received.
const receivedAt = new WeakMap<QueueState, number>();

// waited returns for how long the oldest ready message of a queue has been due, in ms. The server
// sends no event only because it is more than before.
export function waited(q: QueueState): number {
  if (q.ready === 0) return 0;
  return q.oldest_ready_ms + Math.max(0, now.value - (receivedAt.get(q) ?? now.value));
}

export const totals = computed(() => total([...queues.value.values()]));

function total(all: QueueState[]) {
  const sum = { sent: 0, delivered: 0, acked: 0, nacked: 0, scheduled: 0, ready: 0, leased: 0, dead: 0, done: 0, late: 0 };
  for (const q of all) {
    sum.sent += q.rates?.sent ?? 0;
    sum.delivered += q.rates?.delivered ?? 0;
    sum.acked += q.rates?.acked ?? 0;
    sum.nacked += q.rates?.nacked ?? 0;
    sum.scheduled += q.scheduled;
    sum.ready += q.ready;
    sum.leased += q.leased;
    sum.dead += q.dead;
    sum.done += q.done;
    sum.late = Math.max(sum.late, waited(q));
  }
  return sum;
}

function sample(): void {
  const at = Date.now() / 1000;
  const add = (to: Series, values: Record<Measure, number>) => {
    to.times.push(at);
    for (const measure of measures) to[measure].push(values[measure]);
    if (to.times.length > mostSamples) {
      to.times.shift();
      for (const measure of measures) to[measure].shift();
    }
  };
  add(series(""), totals.peek());
  for (const q of queues.peek().values()) add(series(q.queue), total([q]));
}

function apply(change: Change, whole: boolean): void {
  const next = new Map(whole ? [] : queues.peek());
  for (const q of change.queues) {
    receivedAt.set(q, Date.now());
    next.set(q.queue, q);
  }
  for (const name of change.removed ?? []) next.delete(name);
  queues.value = next;
  known.value = true;
  connection.value = "live";
}

let source: EventSource | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;
let ticks: ReturnType<typeof setInterval> | undefined;
const retryEvery = 2000;

// follow reads events until hold is called. It connects again whenever the connection is lost.
export function follow(): void {
  hold();
  connection.value = "connecting";
  connect();
  ticks = setInterval(() => {
    now.value = Date.now();
    if (connection.peek() === "live") sample();
  }, 1000);
}

// following reports whether events are read, or will be when the server answers again.
export const following = (): boolean => source !== undefined;

// hold ends reading events, and keeps what is known as it is.
export function hold(): void {
  source?.close();
  source = undefined;
  clearTimeout(retry);
  clearInterval(ticks);
  connection.value = "held";
}

function connect(): void {
  const events = new EventSource("v1/events");
  source = events;
  events.addEventListener("snapshot", (event) => apply(JSON.parse(event.data) as Change, true));
  events.addEventListener("change", (event) => apply(JSON.parse(event.data) as Change, false));
  events.addEventListener("problem", () => {
    connection.value = "store";
  });
  events.onerror = () => {
    connection.value = "lost";
    if (events.readyState !== EventSource.CLOSED) return; // the browser tries again
    events.close();
    retry = setTimeout(() => void reconnect(), retryEvery);
  };
}

// reconnect finds out first whether the session has ended, which an EventSource does not tell.
async function reconnect(): Promise<void> {
  if (await refreshSession()) {
    if (source) connect();
  } else {
    retry = setTimeout(() => void reconnect(), retryEvery);
  }
}
