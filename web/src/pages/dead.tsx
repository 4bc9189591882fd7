// The dead letters of a queue, grouped by their last failure.

import { useLayoutEffect, useState } from "preact/hooks";
import { api, type FailureGroup, type Filter, type Problem } from "../data/api";
import { count, plural } from "../data/format";
import { toProblem } from "../data/load";
import { queues } from "../data/live";
import { change, href, route } from "../data/router";
import { mayAdmin } from "../data/session";
import { askPurge, askRedriveAll } from "../parts/actions";
import { toast } from "../parts/dialog";
import { Empty, Instant, ProblemNotice } from "../parts/small";
import { QueueHead } from "../parts/tabs";
import { visible } from "../parts/body";

const perAnswer = 1000;
// mostAnswers is how many dead letters are read (in units of perAnswer) until the reader is asked to
// go on.
const mostAnswers = 20;

// Read has the groups when all were read: rows that come, grow and change places while they are
// looked at cannot be clicked.
interface Read {
  groups: FailureGroup[];
  examined: number;
  next?: string;
  busy: boolean;
  problem?: Problem;
}

// merge adds groups to those that are known.
function merge(known: readonly FailureGroup[], more: readonly FailureGroup[]): FailureGroup[] {
  const all = new Map(known.map((g) => [g.group, g]));
  for (const g of more) {
    const old = all.get(g.group);
    if (!old) {
      all.set(g.group, g);
      continue;
    }
    const later = old.last > g.last ? old : g;
    const varied = old.varied || g.varied || old.failure !== g.failure;
    all.set(g.group, { ...later, varied, count: old.count + g.count, first: old.first < g.first ? old.first : g.first });
  }
  return [...all.values()].sort((a, b) => b.count - a.count || (a.group < b.group ? -1 : 1));
}

export function DeadLetters({ queue }: { queue: string }) {
  const text = route.value.query.get("failure") ?? "";
  const [read, setRead] = useState<Read>({ groups: [], examined: 0, busy: true });
  const [again, setAgain] = useState(0);
  const [rounds, setRounds] = useState(1);
  useLayoutEffect(() => {
    const stop = new AbortController();
    setRead((r) => ({ ...r, examined: 0, busy: true }));
    readAll(queue, text, rounds * mostAnswers, stop.signal, setRead).catch((error: unknown) => {
      if (!stop.signal.aborted) setRead((r) => ({ ...r, busy: false, problem: toProblem(error) }));
    });
    return () => stop.abort();
  }, [queue, text, again, rounds]);
  const reload = () => setAgain((n) => n + 1);
  const filter: Filter = { failure: text || undefined };
  const start = (what: Promise<void>) => void what.catch((error: unknown) => toast(toProblem(error).message, true));
  const total = read.groups.reduce((sum, g) => sum + g.count, 0);
  const dead = queues.value.get(queue)?.dead ?? 0;
  return (
    <>
      <QueueHead queue={queue} page="dead" />
      <section class="card flush">
        <header>
          <form role="search" aria-label="Filter of dead letters" class="actions" onSubmit={(event) => {
            event.preventDefault();
            change({ failure: String(new FormData(event.currentTarget).get("failure") ?? "") || undefined });
          }}>
            <input data-filter name="failure" aria-label="Failure has" placeholder="Failure has, such as 503  /" key={text} defaultValue={text} size={28} spellcheck={false} autocomplete="off" />
            <button>Filter</button>
            {text && <button type="button" onClick={() => change({ failure: undefined })}>Clear</button>}
          </form>
          <div class="actions">
            <button onClick={reload}>Refresh</button>
            {mayAdmin.value && total > 0 && (
              <>
                <button class="primary" disabled={read.busy} onClick={() => start(askRedriveAll(queue, filter, reload))}>{text ? "Redrive these…" : "Redrive all…"}</button>
                <button class="danger" disabled={read.busy} onClick={() => start(askPurge(queue, { ...filter, state: "dead" }, reload))}>{text ? "Delete these…" : "Delete all…"}</button>
              </>
            )}
          </div>
        </header>
        <div class="strip">
          <span class="muted grow" role="status">
            {read.busy ? `Reading… ${count(read.examined)} of ${count(dead)}` : `${plural(total, "dead letter")} in ${plural(read.groups.length, "group")}${read.next ? `; ${count(read.examined)} of ${count(dead)} were examined` : ""}`}
          </span>
          {read.next && !read.busy && <button onClick={() => setRounds((n) => 2 * n)}>Read on</button>}
        </div>
        <ProblemNotice problem={read.problem} retry={reload} />
        {read.groups.length > 0 && <Groups queue={queue} groups={read.groups} total={total} done={reload} start={start} />}
        {!read.busy && read.groups.length === 0 && !read.problem && (
          <Empty title={text ? `No dead letter has “${text}” in its failure` : "No dead letters"}>
            {!text && <p>A message that fails in its last attempt, or is rejected, is kept here until it is redriven or deleted.</p>}
          </Empty>
        )}
      </section>
    </>
  );
}

async function readAll(queue: string, failure: string, most: number, signal: AbortSignal, report: (next: (before: Read) => Read) => void): Promise<void> {
  let read: Read = { groups: [], examined: 0, busy: true };
  for (let n = 0; n < most; n++) {
    const answer = await api.failures(queue, { failure: failure || undefined }, read.next, perAnswer, signal);
    const more = answer.next !== undefined && n + 1 < most;
    read = { groups: merge(read.groups, answer.groups), examined: read.examined + answer.matched, next: answer.next, busy: more };
    report((before) => (more ? { ...before, examined: read.examined } : read));
    if (!more) return;
  }
}

// groupFilter chooses the messages of a group. Texts of other groups can contain that of a group.
const groupFilter = (g: FailureGroup) => ({ failure_group: g.failure || undefined });

function Groups({ queue, groups, total, done, start }: { queue: string; groups: FailureGroup[]; total: number; done: () => void; start: (what: Promise<void>) => void }) {
  const most = 200;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Groups of dead letters">
      <table>
        <thead><tr><th>failure</th><th class="number">messages</th><th class="narrow-hide">share</th><th class="narrow-hide">first died</th><th>last died</th>{mayAdmin.value && <th><span class="sr">actions</span></th>}</tr></thead>
        <tbody>
          {groups.slice(0, most).map((g) => (
            <tr key={g.group}>
              <td><a class="row failure" href={href(["queues", queue, "messages"], { state: "dead", ...groupFilter(g) })}>{g.failure ? visible(g.failure) : <span class="muted">no failure text</span>}</a>{g.varied && <div class="muted small">and others that differ only in numbers or ids</div>}</td>
              <td class="number">{count(g.count)}</td>
              <td class="narrow-hide"><span class="share" style={{ "--share": `${(100 * g.count) / total}%` }} /></td>
              <td class="narrow-hide"><Instant at={g.first} /></td>
              <td><Instant at={g.last} /></td>
              {mayAdmin.value && (
                <td class="number">
                  {g.failure && <button onClick={() => start(askRedriveAll(queue, groupFilter(g), done))}>Redrive…</button>}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {groups.length > most && <p class="strip muted">{count(groups.length - most)} smaller groups are not shown; filter to see them.</p>}
    </div>
  );
}
