// The HTTP API, as openapi.json describes it. The dashboard makes no other request but those of
// its session.

export type State = "scheduled" | "ready" | "leased" | "dead" | "done";

export const states: readonly State[] = ["scheduled", "ready", "leased", "dead", "done"];

export interface Counters {
  sent: number;
  delivered: number;
  acked: number;
  nacked: number;
  released: number;
  snoozed: number;
  repeated: number;
  rejected: number;
  lease_lost: number;
  dead_lettered: number;
  cancelled: number;
  replaced: number;
  expired: number;
  redriven: number;
  purged: number;
  dead_expired: number;
  duplicates: number;
  deduplicated: number;
  forgotten: number;
}

export interface Rates {
  sent: number;
  delivered: number;
  acked: number;
  nacked: number;
  dead_lettered: number;
}

// QueueState is the state of a queue in an event.
export interface QueueState extends Record<State, number> {
  queue: string;
  paused: boolean;
  oldest_ready_ms: number; // see waited
  consumers: number;
  counters: Counters;
  rates?: Rates;
}

export interface Change {
  queues: QueueState[];
  removed?: string[];
}

export interface Settings {
  partitions: number;
  max_body: number;
  max_messages: number;
  dead_retention: string;
  max_dead: number;
  history: string;
  max_history: number;
  max_attempts: number;
  lease: string;
  backoff: { base: string; most: string };
  dedup_for: string;
}

export interface Queue extends QueueState {
  settings: Settings;
  remembered: number;
}

export interface Message {
  id: string;
  queue: string;
  state: State;
  key?: string;
  headers?: Record<string, string>;
  body?: string;
  body_base64?: string;
  body_size: number;
  due?: string;
  leased_until?: string;
  holder?: string;
  died_at?: string;
  ended_at?: string;
  ending?: "acked" | "cancelled" | "expired";
  sent_at: string;
  expires_at?: string;
  attempt: number;
  token: number;
  failures: number;
  snoozes: number;
  max_attempts: number;
  last_failure?: string;
  recent_failures?: Failure[];
  cancelling?: boolean;
  repeat?: string;
}

export interface Failure {
  at?: string;
  attempt: number;
  text: string;
}

export interface Page {
  messages: Message[];
  next?: string;
}

export interface Forecast {
  step: string;
  ready: number;
  counts: number[];
  later: number;
}

export interface AllForecast extends Forecast {
  queues: number;
  next?: string;
}

export interface Member {
  name: string;
  client: string;
  on_duty: number[];
  trial: boolean;
}

export interface QueueMember extends Member {
  queue: string;
}

export interface AllMembers {
  members: QueueMember[];
  next?: string;
}

export interface RedisServer {
  address?: string;
  version: string;
  role: string;
  memory_used: number;
  memory_limit: number;
  eviction: string;
  append_only: boolean;
  last_snapshot?: string;
  clients: number;
  replicas: number;
}

export interface Files {
  bytes: number;
  needed: number;
  segments: number;
  sync: string;
  full: boolean;
}

export interface Finding {
  check: string;
  server?: string;
  level: "ok" | "warn" | "fail";
  found: string;
  fix?: string;
}

export interface Store {
  kind: "redis" | "sentinel" | "cluster" | "file" | "memory" | "other";
  servers?: RedisServer[];
  files?: Files;
  findings: Finding[];
}

export interface FailureGroup {
  failure: string;
  group: string;
  varied: boolean;
  count: number;
  first: string;
  last: string;
  id: string;
}

export interface Failures {
  matched: number;
  groups: FailureGroup[];
  next?: string;
}

// Filter chooses messages. Ranges are FROM..TO.
export interface Filter {
  state?: State;
  key?: string;
  headers?: Record<string, string>;
  failure?: string;
  failure_group?: string;
  recurring?: boolean;
  due?: string;
  sent?: string;
  died?: string;
  ended?: string;
  min_attempts?: number;
}

export interface Refusal {
  ref: string;
  code: string;
  detail?: string;
}

export interface Count {
  count: number;
  dry_run?: boolean;
  errors?: Refusal[];
}

export interface Session {
  name?: string;
  scopes: string[];
  queues: string[];
  read_only: boolean;
  build: string;
}

// Problem is an error that the server has answered, or that it did not answer (status 0).
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly field?: string,
  ) {
    super(detail || code);
  }
}

type Query = Record<string, string | number | boolean | string[] | undefined>;

function address(path: string, query?: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== "") search.append(name, String(one));
    }
  }
  const text = search.toString();
  return text === "" ? path : `${path}?${text}`;
}

// onUnauthorized is called when the server does not know the caller (any more).
let onUnauthorized = () => {};
export function whenUnauthorized(call: () => void): void {
  onUnauthorized = call;
}

async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const init: RequestInit = { method, signal, cache: "no-store", credentials: "same-origin" };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "Content-Type": "application/json" };
  }
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, "unreachable", "The server does not answer.");
  }
  if (response.status === 204) return undefined as T;
  const answer: unknown = await response.json().catch(() => ({}));
  if (response.ok) return answer as T;
  const { code, detail, field } = answer as { code?: string; detail?: string; field?: string };
  if (response.status === 401 && path !== "session") onUnauthorized();
  throw new Problem(response.status, code ?? String(response.status), detail ?? "", field);
}

const queuePath = (queue: string) => `v1/queues/${encodeURIComponent(queue)}`;
const messagePath = (queue: string, ref: string) => `${queuePath(queue)}/messages/${encodeURIComponent(ref)}`;

// filterQuery returns a filter as the parameters of a list.
function filterQuery({ headers, ...rest }: Filter): Query {
  return { ...rest, header: Object.entries(headers ?? {}).map(([name, value]) => `${name}=${value}`) };
}

// mostForecasts is of how many queues a request for forecasts is at most, and mostNamed how many of
// them it can name.
export const mostForecasts = 500;
export const mostNamed = 100;

export const api = {
  session: () => call<Session>("GET", "session"),
  signIn: (token: string) => call<Session>("POST", "session", { token }),
  signOut: () => call<void>("DELETE", "session"),

  queue: (queue: string, signal?: AbortSignal) => call<Queue>("GET", queuePath(queue), undefined, signal),
  members: (queue: string, signal?: AbortSignal) =>
    call<{ members: Member[] }>("GET", `${queuePath(queue)}/members`, undefined, signal),
  allMembers: (after: string, signal?: AbortSignal) =>
    call<AllMembers>("GET", address("v1/members", { after, limit: 500 }), undefined, signal),
  store: (signal?: AbortSignal) => call<Store>("GET", "v1/store", undefined, signal),
  forecast: (queue: string, step: string, spans: number, signal?: AbortSignal) =>
    call<Forecast>("GET", address(`${queuePath(queue)}/forecast`, { step, spans }), undefined, signal),
  allForecast: (queue: string[], step: string, spans: number, signal?: AbortSignal) =>
    call<AllForecast>("GET", address("v1/forecast", { queue, step, spans, limit: mostForecasts }), undefined, signal),
  list: (queue: string, filter: Filter, page: { cursor?: string; order?: "asc" | "desc"; limit?: number; body_limit?: number }, signal?: AbortSignal) =>
    call<Page>("GET", address(`${queuePath(queue)}/messages`, { ...filterQuery(filter), ...page }), undefined, signal),
  message: (queue: string, ref: string, signal?: AbortSignal) =>
    call<Message>("GET", messagePath(queue, ref), undefined, signal),
  failures: (queue: string, filter: Filter, cursor: string | undefined, limit: number, signal?: AbortSignal) =>
    call<Failures>("GET", address(`${queuePath(queue)}/failures`, { ...filterQuery(filter), cursor, limit }), undefined, signal),

  update: (queue: string, settings: Partial<Settings>) => call<Queue>("PATCH", queuePath(queue), settings),
  pause: (queue: string) => call<void>("POST", `${queuePath(queue)}/pause`),
  resume: (queue: string) => call<void>("POST", `${queuePath(queue)}/resume`),
  cancel: (queue: string, ref: string) => call<void>("DELETE", messagePath(queue, ref)),
  reschedule: (queue: string, ref: string, to: { due?: string; delay?: string }) =>
    call<void>("POST", `${messagePath(queue, ref)}/reschedule`, to),
  redrive: (queue: string, refs: string[]) => call<Count>("POST", `${queuePath(queue)}/redrive`, { refs }),
  remove: (queue: string, refs: string[]) => call<Count>("POST", `${queuePath(queue)}/delete`, { refs }),
  redriveAll: (queue: string, filter: Filter, more: { dry_run?: boolean; spread?: string }) =>
    call<Count>("POST", `${queuePath(queue)}/redrive`, { filter, ...more }),
  purge: (queue: string, filter: Filter, more: { dry_run?: boolean }) =>
    call<Count>("POST", `${queuePath(queue)}/purge`, { filter, ...more }),
  rescheduleAll: (queue: string, filter: Filter, more: { dry_run?: boolean; spread?: string; delay?: string; due?: string }) =>
    call<Count>("POST", `${queuePath(queue)}/reschedule`, { filter, ...more }),
};
