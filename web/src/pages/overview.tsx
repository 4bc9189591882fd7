// All queues: what needs attention first, then how they are doing.

import { useLayoutEffect, useState } from "preact/hooks";
import { mostForecasts, mostNamed, type QueueState } from "../data/api";
import { compact, count, plural, rate, span } from "../data/format";
import { connection, known, queues, series, totals, waited } from "../data/live";
import { useTick } from "../data/load";
import { asked, refreshStore, store } from "../data/store";
import { change, href, route } from "../data/router";
import { ForecastChart } from "../parts/forecast";
import { Plot } from "../parts/plot";
import { Empty, Number } from "../parts/small";

interface Concern {
  queue?: string; // none: the store
  weight: number;
  badge: string;
  bad: boolean;
  text: string;
  to: string;
}

// lateMS is how long a message may wait for a consumer before it is a concern.
const lateMS = 60_000;
const mostConcerns = 5;

// concernsOf returns what is wrong with a queue, the worst first.
function concernsOf(q: QueueState): Concern[] {
  const found: Concern[] = [];
  const add = (weight: number, badge: string, bad: boolean, text: string, to: string) => found.push({ queue: q.queue, weight, badge, bad, text, to });
  const queue = href(["queues", q.queue]);
  const waiting = q.ready > 0 ? `, ${plural(q.ready, "message")} due` : "";
  if (q.paused) add(2, "paused", false, `delivers nothing${waiting}`, queue);
  else if (q.consumers === 0 && q.ready > 0 && !q.rates?.delivered) add(4, "no consumer", true, `nobody receives: ${plural(q.ready, "message")} due`, queue);
  else if (waited(q) > lateMS) add(3, "late", true, `the oldest due message has waited for ${span(waited(q))}`, href(["queues", q.queue, "messages"], { state: "ready" }));
  if (q.dead > 0) {
    const growing = q.rates?.dead_lettered ?? 0;
    add(growing > 0 ? 5 : 1, growing > 0 ? "dying" : "dead", growing > 0, `${plural(q.dead, "dead letter")}${growing > 0 ? `, ${rate(growing)} more each second` : ""}`, href(["queues", q.queue, "dead"]));
  }
  return found;
}

// storeConcerns returns what is wrong with the store. What is kept in memory is lost on purpose.
function storeConcerns(): Concern[] {
  const is = store.value;
  if (!is || is.kind === "memory") return [];
  return is.findings.filter((f) => f.level !== "ok").map((f) => ({
    weight: f.level === "fail" ? 7 : 6, badge: f.check, bad: f.level === "fail", to: href(["store"]),
    text: `${f.server ? `${f.server}: ` : ""}${f.found}`,
  }));
}

const storeRefreshMS = 60_000;

export function Overview() {
  const tick = useTick(storeRefreshMS, connection.value === "held");
  useLayoutEffect(() => {
    if (tick > 0 || !store.peek()) void refreshStore();
  }, [tick]);
  const all = [...queues.value.values()];
  if (known.value && all.length === 0) return <NoQueues />;
  const t = totals.value;
  const named = all.length > mostForecasts ? [...all].sort((a, b) => b.scheduled - a.scheduled).slice(0, mostNamed).map((q) => q.queue).sort() : [];
  return (
    <div hidden={!asked.value}>{/* what is wrong with the store would push the rest down */}
      <h1 class="sr">Overview</h1>
      <div class="tiles">
        <div class="tile"><span class="state" data-state="scheduled">scheduled</span><b title={count(t.scheduled)}>{compact(t.scheduled)}</b></div>
        <div class="tile"><span class="state" data-state="ready">ready</span><b title={count(t.ready)}>{compact(t.ready)}</b></div>
        <div class="tile"><span class="state" data-state="leased">leased</span><b title={count(t.leased)}>{compact(t.leased)}</b></div>
        <div class="tile"><span class="state" data-state="dead">dead</span><b title={count(t.dead)}>{compact(t.dead)}</b></div>
        <div class="tile"><span>longest wait</span><b>{t.late > 0 ? span(t.late) : "–"}</b></div>
      </div>
      <div class="grid">
        <Attention all={all} />
        <div class="half even"><ForecastChart named={named} note={named.length > 0 ? `the ${mostNamed} largest queues` : undefined} /></div>
        <div class="half even"><Plot title="Throughput, per second" series={series("")} format={rate} lines={throughput} /></div>
        <QueueTable all={all} />
      </div>
    </div>
  );
}

export const throughput = [
  { measure: "sent", label: "sent", color: "--scheduled" },
  { measure: "acked", label: "acked", color: "--done", fill: true },
  { measure: "nacked", label: "failed", color: "--dead" },
] as const;

function Attention({ all }: { all: QueueState[] }) {
  const concerns = [...storeConcerns(), ...all.flatMap(concernsOf)].sort((a, b) => b.weight - a.weight || (a.queue ?? "").localeCompare(b.queue ?? ""));
  if (concerns.length === 0) return null;
  return (
    <section class="card flush attention">
      <header><h2>Needs attention</h2>{concerns.length > mostConcerns && <span class="muted small">the first {mostConcerns} of {concerns.length}</span>}</header>
      <ul>
        {concerns.slice(0, mostConcerns).map((c) => (
          <li key={`${c.queue ?? ""} ${c.badge}`}>
            <span class={c.bad ? "badge bad" : "badge warn"}>{c.badge}</span>
            <span><a href={c.queue ? href(["queues", c.queue]) : c.to}>{c.queue ?? "Store"}</a> <span class="muted">{c.text}</span></span>
            <a href={c.to} aria-label={`Look at ${c.queue ?? "the store"}: ${c.badge}`}>Look</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

type Column = { title: string; value: (q: QueueState) => number; show?: (q: QueueState) => string; hide?: boolean };

const columns: readonly Column[] = [
  { title: "scheduled", value: (q) => q.scheduled },
  { title: "ready", value: (q) => q.ready },
  { title: "leased", value: (q) => q.leased },
  { title: "dead", value: (q) => q.dead },
  { title: "sent/s", value: (q) => q.rates?.sent ?? 0, show: (q) => rate(q.rates?.sent ?? 0), hide: true },
  { title: "acked/s", value: (q) => q.rates?.acked ?? 0, show: (q) => rate(q.rates?.acked ?? 0), hide: true },
  { title: "longest wait", value: waited, show: (q) => (waited(q) > 0 ? span(waited(q)) : "–"), hide: true },
  { title: "consumers", value: (q) => q.consumers, hide: true },
];

const rowsAtFirst = 50;

function QueueTable({ all }: { all: QueueState[] }) {
  const query = route.value.query;
  const text = query.get("name") ?? "";
  const by = columns.find((c) => c.title === query.get("by"));
  const [rows, setRows] = useState(rowsAtFirst);
  const found = all.filter((q) => q.queue.toLowerCase().includes(text.toLowerCase()));
  found.sort((a, b) => (by ? by.value(b) - by.value(a) : 0) || a.queue.localeCompare(b.queue));
  return (
    <section class="card flush">
      <header>
        <h2>{plural(all.length, "queue")}</h2>
        <input data-filter aria-label="Filter queues by name" placeholder="Filter by name  /" value={text} onInput={(e) => change({ name: e.currentTarget.value || undefined }, true)} />
      </header>
      <div class="scroll" tabIndex={0} role="region" aria-label="Queues">
        <table>
          <thead>
            <tr>
              <th aria-sort={by ? undefined : "ascending"}><button onClick={() => change({ by: undefined }, true)}>queue{by ? "" : " ↑"}</button></th>
              {columns.map((c) => (
                <th key={c.title} class={c.hide ? "number narrow-hide" : "number"} aria-sort={c === by ? "descending" : undefined}>
                  <button onClick={() => change({ by: c.title }, true)}>{c.title}{c === by ? " ↓" : ""}</button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found.slice(0, rows).map((q) => (
              <tr key={q.queue}>
                <td><a class="row" href={href(["queues", q.queue])}>{q.queue}</a>{q.paused && <> <span class="badge warn">paused</span></>}</td>
                {columns.map((c) => (
                  <td key={c.title} class={c.hide ? "number narrow-hide" : "number"}>
                    {c.show ? <span class={c.value(q) === 0 ? "zero" : undefined}>{c.show(q)}</span> : <Number n={c.value(q)} />}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {found.length === 0 && <p class="strip muted">No queue has “{text}” in its name.</p>}
      {found.length > rows && <p class="strip"><button onClick={() => setRows(found.length)}>Show all {count(found.length)}</button></p>}
    </section>
  );
}

function NoQueues() {
  const server = `${location.origin}${location.pathname}`;
  return (
    <section class="card">
      <Empty alone title="No queue yet">
        <p>A queue is made by the first message that is sent to it, from any language:</p>
        <pre>{`curl --json '{"body": "hello", "delay": "1m"}' \\\n  ${server}v1/queues/orders/messages`}</pre>
        <p>or from Go:</p>
        <pre>{`id, err := client.Queue("orders").Send(ctx, dueq.Message{\n\tBody: []byte("hello"), Delay: time.Minute,\n})`}</pre>
      </Empty>
    </section>
  );
}
