// The recurring messages of a queue: when each is due next, and on which schedule.

import { useLayoutEffect, useState } from "preact/hooks";
import { api, type Message, type Problem } from "../data/api";
import { count, goSpan, plural } from "../data/format";
import { toProblem } from "../data/load";
import { change, href, route } from "../data/router";
import { mayProduce } from "../data/session";
import { askStop, putBack } from "../parts/actions";
import { visible } from "../parts/body";
import { attempt } from "../parts/dialog";
import { Empty, Instant, ProblemNotice, StateName } from "../parts/small";
import { QueueHead } from "../parts/tabs";

const perAnswer = 1000;
// mostAnswers is how many messages are read (in units of perAnswer) until the reader is asked to go on.
const mostAnswers = 20;

interface Read {
  series: Message[];
  examined: number;
  next?: string;
  busy: boolean;
  problem?: Problem;
}

const nothing: Read = { series: [], examined: 0, busy: true };

export function Recurring({ queue }: { queue: string }) {
  const [read, setRead] = useState<Read>(nothing);
  const [again, setAgain] = useState(0);
  const [rounds, setRounds] = useState(1);
  useLayoutEffect(() => {
    const stop = new AbortController();
    setRead((r) => ({ ...r, examined: 0, busy: true }));
    readAll(queue, rounds * mostAnswers, stop.signal, setRead).catch((error: unknown) => {
      if (!stop.signal.aborted) setRead((r) => ({ ...r, busy: false, problem: toProblem(error) }));
    });
    return () => stop.abort();
  }, [queue, again, rounds]);
  const reload = () => setAgain((n) => n + 1);
  const text = route.value.query.get("name") ?? "";
  const found = read.series.filter((m) => `${m.key ?? m.id}\n${m.repeat}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <>
      <QueueHead queue={queue} page="recurring" />
      <section class="card flush">
        <header>
          <h2>{read.busy && read.series.length === 0 ? "Recurring messages" : plural(read.series.length, "recurring message") + (read.busy ? " so far" : "")}</h2>
          <div class="actions">
            <input data-filter aria-label="Filter by key or schedule" placeholder="Filter by key or schedule  /" value={text} onInput={(e) => change({ name: e.currentTarget.value || undefined }, true)} />
            <button onClick={reload}>Refresh</button>
          </div>
        </header>
        <div class="strip">
          <span class="muted grow" role="status">{read.busy ? `Reading…${read.examined > 0 ? ` ${count(read.examined)} messages were examined` : ""}` : read.next ? `The first ${count(read.examined)} messages, in the order of their due times, were examined` : "All messages were examined"}</span>
          {read.next && !read.busy && <button onClick={() => setRounds((n) => 2 * n)}>Read on</button>}
        </div>
        <ProblemNotice problem={read.problem} retry={reload} />
        {found.length > 0 && <Series queue={queue} series={found} done={reload} />}
        {found.length === 0 && read.series.length > 0 && <p class="strip muted">No recurring message has “{text}” in its key or schedule.</p>}
        {!read.busy && read.series.length === 0 && !read.next && !read.problem && <NoSeries queue={queue} />}
      </section>
    </>
  );
}

async function readAll(queue: string, most: number, signal: AbortSignal, report: (next: (before: Read) => Read) => void): Promise<void> {
  const found = new Map<string, Message>();
  let next: string | undefined;
  for (let n = 1; n <= most; n++) {
    const page = await api.list(queue, { recurring: true }, { cursor: next, limit: perAnswer }, signal);
    for (const m of page.messages) if (m.state !== "dead" && m.state !== "done") found.set(m.id, m);
    next = /^[de]/.test(page.next ?? "") ? undefined : page.next; // dead and done ones have no next time
    const series = [...found.values()], examined = n * perAnswer;
    if (!next || n === most) return report(() => ({ series, examined, next, busy: false }));
    // Rows are only added. When all is read again, what is shown stays until there is more.
    report((before) => ({ series: series.length < before.series.length ? before.series : series, examined, busy: true }));
  }
}

function Series({ queue, series, done }: { queue: string; series: Message[]; done: () => void }) {
  const most = 500;
  const runNow = (m: Message) => api.reschedule(queue, m.id, { delay: "0s" }).then(() => (done(), `${m.key ?? m.id} is due now; its schedule goes on.`));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Recurring messages">
      <table>
        <thead><tr><th>message</th><th>schedule</th><th>next</th><th class="number narrow-hide">deliveries</th><th class="narrow-hide">last failure</th>{mayProduce.value && <th><span class="sr">actions</span></th>}</tr></thead>
        <tbody>
          {series.slice(0, most).map((m) => (
            <tr key={m.id}>
              <td><a class="row" href={href(["queues", queue, "messages", m.id])}><bdi class="clip">{m.key ? visible(m.key) : <span class="mono">{m.id}</span>}</bdi></a></td>
              <td class="mono nowrap">{m.repeat && visible(scheduleOf(m.repeat))}</td>
              <td class="nowrap">{m.state === "leased" ? <StateName state="leased" /> : m.state === "ready" ? <StateName state="ready" /> : <Instant at={m.due} />}</td>
              <td class="number narrow-hide">{count(m.token)}</td>
              <td class="fill narrow-hide">{m.last_failure ? <bdi class="clip failure">{visible(m.last_failure)}</bdi> : <span class="muted">none</span>}</td>
              {mayProduce.value && (
                <td class="number">
                  <span class="actions end">
                    {m.state === "scheduled" && <button onClick={() => void attempt(() => runNow(m), m.due ? putBack(queue, m.id, m.due, done) : undefined)}>Run now</button>}
                    <button class="danger" onClick={() => askStop(queue, m, done)}>Stop…</button>
                  </span>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {series.length > most && <p class="strip muted">The first {count(most)} are shown.</p>}
    </div>
  );
}

// scheduleOf shortens the span of a schedule: every 1h0m0s is every 1 h.
const scheduleOf = (repeat: string) => repeat.replace(/^every (\S+)$/, (_, text: string) => `every ${goSpan(text)}`);

function NoSeries({ queue }: { queue: string }) {
  const server = `${location.origin}${location.pathname}`;
  return (
    <Empty title="No recurring message here">
      <p>A message with a schedule is delivered again and again, until it is cancelled:</p>
      <pre>{`curl --json '{"body": "report", "key": "daily-report", "repeat": "cron 0 6 * * * Europe/Berlin"}' \\\n  ${server}v1/queues/${queue}/messages`}</pre>
      <pre>{`client.Queue(${JSON.stringify(queue)}).Send(ctx, dueq.Message{\n\tKey: "daily-report", Repeat: dueq.Repeat{Cron: "0 6 * * *", Zone: "Europe/Berlin"},\n})`}</pre>
    </Empty>
  );
}
