// The messages of a queue: by state, with a filter, page by page.

import { useLayoutEffect, useState } from "preact/hooks";
import { api, states, type Filter, type Message, type State } from "../data/api";
import { bytes, compact, count, plural } from "../data/format";
import { queues } from "../data/live";
import { toProblem } from "../data/load";
import { collect, type Found } from "../data/pages";
import { change, href, route } from "../data/router";
import { mayAdmin } from "../data/session";
import { askDelete, askPurge, askRedriveAll, askRescheduleAll, redriveSelected } from "../parts/actions";
import { visible } from "../parts/body";
import { attempt, toast } from "../parts/dialog";
import { Empty, Instant, ProblemNotice, StateName } from "../parts/small";
import { QueueHead } from "../parts/tabs";
import type { Problem } from "../data/api";

// rowsWanted is how many messages a page shows at first, and perAnswer how many the server examines
// for an answer at most.
const rowsWanted = 50;
const perAnswer = 1000;
const bodyLimit = 160;

export function filterOf(query: URLSearchParams): Filter {
  const get = (name: string) => query.get(name) || undefined;
  const [name, ...value] = (get("header") ?? "").split("=");
  return {
    state: get("state") as State | undefined,
    key: get("key"),
    headers: name && value.length > 0 ? { [name]: value.join("=") } : undefined,
    failure: get("failure"), failure_group: get("failure_group"),
    due: get("due"), sent: get("sent"), died: get("died"), ended: get("ended"),
  };
}

// find reads answers until there are enough matches. Without a filter one answer is enough, and so
// it is for a key that is no pattern: at most one message that is not dead or done has it, and the
// server finds it among any number.
async function find(queue: string, filter: Filter, cursor: string | undefined, order: Order["all"], signal: AbortSignal, report: (f: Found) => void): Promise<Found> {
  const names = Object.entries(filter).filter(([name, value]) => name !== "state" && value !== undefined).map(([name]) => name);
  let first: Message | undefined;
  if (!cursor && names.join() === "key" && !/[*?[\\]/.test(filter.key!)) {
    const one = await byKey(queue, filter.key!, signal);
    if (one && (!filter.state || one.state === filter.state)) first = one;
    if (filter.state !== "dead" && filter.state !== "done" && (filter.state || first)) return { messages: first ? [first] : [], examined: 0 };
  }
  const behind = (f: Found) => (first ? { ...f, messages: [first, ...f.messages.filter((m) => m.id !== first.id)] } : f);
  const most = names.some((name) => !atTime.has(name)) ? perAnswer : rowsWanted;
  return behind(await collect(queue, filter, { cursor, order, limit: rowsWanted, most, rows: rowsWanted, body_limit: bodyLimit }, signal, (f) => report(behind(f))));
}

// atTime are the parts of a filter that the store finds without reading other messages.
const atTime: ReadonlySet<string> = new Set(["due", "died", "ended"]);

async function byKey(queue: string, key: string, signal: AbortSignal): Promise<Message | undefined> {
  try {
    return await api.message(queue, `key:${key}`, signal);
  } catch (error) {
    if (toProblem(error).status === 404) return undefined;
    throw error;
  }
}

export function Messages({ queue }: { queue: string }) {
  const query = route.value.query;
  const filter = filterOf(query);
  const cursor = query.get("cursor") ?? undefined;
  const by = orders.find((o) => o.name === query.get("by"));
  const wanted = new URLSearchParams([...[...query].filter(([name]) => name !== "by"), ["order", by?.all ?? ""]]).toString();
  const [found, setFound] = useState<Found>();
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [again, setAgain] = useState(0);
  const [rows, setRows] = useState(rowsWanted);
  const [examined, setExamined] = useState(0);
  useLayoutEffect(() => {
    const stop = new AbortController();
    setBusy(true);
    setExamined(0);
    setRows(rowsWanted);
    const report = (f: Found) => {
      setExamined(f.examined);
      if (f.messages.length > 0) setFound(f); // until then what was found before stays
    };
    find(queue, filter, cursor, by?.all, stop.signal, report).then(
      (f) => (setFound(f), setProblem(undefined), setBusy(false), setSelected(new Set())),
      (error: unknown) => stop.signal.aborted || (setProblem(toProblem(error)), setBusy(false)),
    );
    return () => stop.abort();
  }, [queue, wanted, again]);
  const reload = () => setAgain((n) => n + 1);
  const partly = busy && examined > 0; // what follows the rows would be pushed down by more of them
  return (
    <>
      <QueueHead queue={queue} page="messages" />
      <section class="card flush">
        <States queue={queue} chosen={filter.state} reload={reload} status={partly ? `Reading… ${count(examined)} examined` : ""} />
        <Filters query={query} state={filter.state} />
        <ProblemNotice problem={problem} retry={reload} />
        {mayAdmin.value && <Selection queue={queue} filter={filter} selected={selected} found={found} done={reload} />}
        {found && found.messages.length > 0 && <Table queue={queue} messages={sorted(found.messages, by).slice(0, rows)} by={by} selected={selected} select={setSelected} />}
        {found && found.messages.length > rows && !partly && <p class="strip"><button onClick={() => setRows(found.messages.length)}>Show all {count(found.messages.length)} of this page</button></p>}
        {found && found.messages.length === 0 && <Nothing queue={queue} filter={filter} found={found} />}
        {(found || problem) && !partly && <Pager found={found} cursor={cursor} busy={busy} by={by} />}
      </section>
    </>
  );
}

function States({ queue, chosen, reload, status }: { queue: string; chosen?: State; reload: () => void; status: string }) {
  const q = queues.value.get(queue);
  const to = (state?: State) => href(["queues", queue, "messages"], { ...Object.fromEntries(route.value.query), cursor: undefined, state });
  return (
    <header>
      <nav class="segments" aria-label="State">
        <a href={to()} aria-current={chosen === undefined ? "true" : undefined}>all</a>
        {states.map((s) => (
          <a key={s} href={to(s)} aria-current={chosen === s ? "true" : undefined}>
            <StateName state={s} /> {q && <span>{compact(q[s])}</span>}
          </a>
        ))}
      </nav>
      <div class="actions"><span class="muted" role="status">{status}</span><button onClick={reload}>Refresh</button></div>
    </header>
  );
}

const filterNames = ["key", "header", "failure", "failure_group", "due", "sent", "died", "ended"] as const;

// timeOf names the time by which messages of a state are ordered.
const timeOf = { scheduled: "due", ready: "due", leased: "sent", dead: "died", done: "ended" } as const;

function Filters({ query, state }: { query: URLSearchParams; state?: State }) {
  const time = state ? timeOf[state] : "sent";
  const fields = [
    { name: "key", label: "Key", hint: "order-*" },
    { name: "header", label: "Header", hint: "tenant=acme" },
    { name: "failure", label: "Failure has", hint: "503" },
    { name: time, label: `${time[0]!.toUpperCase()}${time.slice(1)} between`, hint: time === "due" ? "..1h" : "-1h.." },
  ];
  const apply = (event: Event) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    change({ cursor: undefined, ...Object.fromEntries(fields.map((f) => [f.name, String(data.get(f.name) ?? "") || undefined])) });
  };
  const filtered = filterNames.some((name) => query.has(name));
  const group = query.get("failure_group");
  return (
    <>
    {group && <p class="strip"><span class="muted">Failures like</span><bdi class="failure grow">{visible(group)}</bdi></p>}
    <form class="filters" onSubmit={apply} role="search" aria-label="Filter of messages">
      {fields.map((f, i) => (
        <label key={f.name}>
          {f.label}
          <input key={query.get(f.name)} name={f.name} placeholder={f.hint} defaultValue={query.get(f.name) ?? ""} {...(i === 0 && { "data-filter": true })} spellcheck={false} autocomplete="off" />
        </label>
      ))}
      <div class="actions">
        <button class="primary">Filter</button>
        {filtered && <button type="button" onClick={() => change(Object.fromEntries(["cursor", ...filterNames].map((n) => [n, undefined])))}>Clear</button>}
      </div>
    </form>
    </>
  );
}

function Selection({ queue, filter, selected, found, done }: { queue: string; filter: Filter; selected: ReadonlySet<string>; found?: Found; done: () => void }) {
  const ids = [...selected];
  const matching = found && found.messages.length > 0;
  const start = (what: Promise<void>) => void what.catch((error: unknown) => toast(toProblem(error).message, true));
  return (
    <div class="strip">
      {ids.length > 0 ? (
        <>
          <span>{plural(ids.length, "message")} selected</span>
          <button onClick={() => void attempt(() => redriveSelected(queue, ids, done))}>Redrive the dead</button>
          <button class="danger" onClick={() => askDelete(queue, ids, done)}>Delete…</button>
        </>
      ) : (
        <>
          <span class="muted">All that match</span>
          {(filter.state === "dead" || !filter.state) && <button disabled={!matching} onClick={() => start(askRedriveAll(queue, { ...filter, state: undefined }, done))}>Redrive…</button>}
          {(filter.state === "scheduled" || filter.state === "ready") && <button disabled={!matching} onClick={() => start(askRescheduleAll(queue, filter, done))}>Make due…</button>}
          {filter.state && filter.state !== "leased" && <button class="danger" disabled={!matching} onClick={() => start(askPurge(queue, filter, done))}>Delete…</button>}
        </>
      )}
    </div>
  );
}

// orders are those in which messages can be shown. The server sorts all messages by time; any other
// order would have to read them all, so it is one of the page.
interface Order {
  name: string;
  column: "time" | "attempts" | "size";
  value: (m: Message) => number;
  descending: boolean;
  all?: "asc" | "desc"; // the order of all messages, by which the server has sorted
}

const timeIn = (m: Message) => Date.parse(m.due ?? m.leased_until ?? m.died_at ?? m.ended_at ?? m.sent_at);
const orders: readonly Order[] = [
  { name: "time", column: "time", value: timeIn, descending: false, all: "asc" },
  { name: "-time", column: "time", value: timeIn, descending: true, all: "desc" },
  { name: "-attempts", column: "attempts", value: (m) => m.attempt, descending: true },
  { name: "attempts", column: "attempts", value: (m) => m.attempt, descending: false },
  { name: "-size", column: "size", value: (m) => m.body_size, descending: true },
  { name: "size", column: "size", value: (m) => m.body_size, descending: false },
];

const sorted = (messages: Message[], by?: Order) => (by && !by.all ? [...messages].sort((a, b) => (by.descending ? -1 : 1) * (by.value(a) - by.value(b))) : messages);

// Sorter is the head of a column. It goes from the first order of the column to the second, and to none.
function Sorter({ column, by }: { column: Order["column"]; by?: Order }) {
  const choices = orders.filter((o) => o.column === column);
  const next = choices[choices.indexOf(by!) + 1];
  const again = by?.all !== next?.all; // a cursor belongs to its order
  return <button title={column === "time" ? "Sort all messages" : "Sort the messages of this page"} onClick={() => change({ by: next?.name, ...(again && { cursor: undefined }) }, true)}>{column}{by?.column === column ? (by.descending ? " ↓" : " ↑") : ""}</button>;
}

const sortOf = (column: Order["column"], by?: Order) => (by?.column === column ? (by.descending ? "descending" : "ascending") : undefined);

function Table({ queue, messages, by, selected, select }: { queue: string; messages: Message[]; by?: Order; selected: ReadonlySet<string>; select: (ids: ReadonlySet<string>) => void }) {
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    select(next);
  };
  const all = messages.every((m) => selected.has(m.id));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Messages">
      <table>
        <thead>
          <tr>
            {mayAdmin.value && <th class="check"><input type="checkbox" aria-label="Select all of this page" checked={all} onChange={() => select(new Set(all ? [] : messages.map((m) => m.id)))} /></th>}
            <th>message</th><th>state</th>
            <th aria-sort={sortOf("time", by)}><Sorter column="time" by={by} /></th>
            <th class="number" aria-sort={sortOf("attempts", by)}><Sorter column="attempts" by={by} /></th>
            <th class="narrow-hide">body or failure</th>
            <th class="number narrow-hide" aria-sort={sortOf("size", by)}><Sorter column="size" by={by} /></th>
          </tr>
        </thead>
        <tbody>
          {messages.map((m) => (
            <tr key={m.id}>
              {mayAdmin.value && <td class="check"><input type="checkbox" aria-label={`Select ${m.id}`} checked={selected.has(m.id)} onChange={() => toggle(m.id)} /></td>}
              <td><a class="row" href={href(["queues", queue, "messages", m.id])}><bdi class="clip">{m.key ?? <span class="mono">{m.id}</span>}</bdi></a></td>
              <td><StateName state={m.state} /></td>
              <td><Moment message={m} /></td>
              <td class="number">{m.attempt}<span class="muted"> / {m.max_attempts}</span></td>
              <td class="fill narrow-hide">{m.last_failure ? <bdi class="clip failure">{visible(m.last_failure)}</bdi> : <Preview message={m} />}</td>
              <td class="number narrow-hide">{bytes(m.body_size)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Moment({ message: m }: { message: Message }) {
  switch (m.state) {
    case "leased": return <span class="nowrap muted">lease ends <Instant at={m.leased_until} /></span>;
    case "dead": return <Instant at={m.died_at} />;
    case "done": return <span class="nowrap">{m.ending} <Instant at={m.ended_at} /></span>;
    default: return <Instant at={m.due} />;
  }
}

function Preview({ message: m }: { message: Message }) {
  if (m.body) return <bdi class="clip mono muted">{m.body}</bdi>;
  return <span class="muted">{m.body_size === 0 ? "empty" : "binary"}</span>;
}

function Nothing({ queue, filter, found }: { queue: string; filter: Filter; found: Found }) {
  if (found.next) return <Empty title="No match so far">{`${count(found.examined)} messages were examined.`}</Empty>;
  const server = `${location.origin}${location.pathname}`;
  return (
    <Empty title={filter.state ? `No ${filter.state} message here` : "No message here"}>
      {filter.state === "done" && <p>Done messages are kept if the setting history of the queue is set: <code>dueq queue update {queue} --history 24h</code></p>}
      {(!filter.state || filter.state === "scheduled") && <pre>{`curl --json '{"body": "hello", "delay": "10m", "key": "order-42"}' \\\n  ${server}v1/queues/${queue}/messages`}</pre>}
    </Empty>
  );
}

function Pager({ found, cursor, busy, by }: { found?: Found; cursor?: string; busy: boolean; by?: Order }) {
  const order = by && !by.all && (found?.next || cursor) ? `; only this page is sorted by ${by.column}` : "";
  return (
    <div class="strip">
      <span class="muted grow" role="status">{busy ? "Reading…" : found ? plural(found.messages.length, "message") + order : ""}</span>
      <button disabled={!cursor} onClick={() => change({ cursor: undefined })}>First page</button>
      <button disabled={!found?.next || busy} onClick={() => change({ cursor: found!.next })}>{found?.next && found.messages.length === 0 ? "Go on" : "Next page"}</button>
    </div>
  );
}
