// What has ended in a queue, for as long as its history keeps it.

import { api, type Filter, type Message } from "../data/api";
import { compact, count, goSpan, plural } from "../data/format";
import { connection, queues } from "../data/live";
import { collect } from "../data/pages";
import { useLoaded, useTick } from "../data/load";
import { change, href, route } from "../data/router";
import { mayAdmin } from "../data/session";
import { attempt } from "../parts/dialog";
import { Empty, Instant, ProblemNotice } from "../parts/small";
import { QueueHead } from "../parts/tabs";
import { visible } from "../parts/body";
import { useState } from "preact/hooks";

const refreshMS = 5000;
const perPage = 100;

export function History({ queue }: { queue: string }) {
  const tick = useTick(refreshMS, connection.value === "held");
  const [again, setAgain] = useState(0);
  const ended = route.value.query.get("ended") ?? undefined;
  const cursor = route.value.query.get("cursor") ?? undefined;
  const filter: Filter = { state: "done", ended };
  const settings = useLoaded((signal) => api.queue(queue, signal), [queue, again]);
  const page = useLoaded((signal) => collect(queue, filter, { cursor, limit: perPage, rows: perPage }, signal), [queue, ended, cursor, tick, again]);
  const s = settings.value?.settings;
  // Both are shown together: what the settings decide is above the rest.
  const shown = settings.loading && !s ? undefined : page.value;
  const messages = shown?.messages;
  const kept = queues.value.get(queue)?.done ?? 0;
  return (
    <>
      <QueueHead queue={queue} page="history" />
      <section class="card flush">
        <header>
          <h2>{plural(kept, "message")} that ended</h2>
          {s && <span class="muted small">{s.history === "0s" ? "The history is off" : `kept for ${goSpan(s.history)}, up to ${count(s.max_history)}`}</span>}
        </header>
        <form class="filters" role="search" aria-label="Filter of the history" onSubmit={(event) => {
          event.preventDefault();
          change({ cursor: undefined, ended: String(new FormData(event.currentTarget).get("ended") ?? "") || undefined });
        }}>
          <label>Ended between<input data-filter name="ended" key={ended} defaultValue={ended ?? ""} placeholder="-1h.." spellcheck={false} autocomplete="off" /></label>
          <div class="actions"><button class="primary">Filter</button>{ended && <button type="button" onClick={() => change({ ended: undefined, cursor: undefined })}>Clear</button>}</div>
        </form>
        <ProblemNotice problem={page.problem ?? settings.problem} />
        {messages && messages.length > 0 && <Ended queue={queue} messages={messages} />}
        {s && messages?.length === 0 && (s.history === "0s" ? <Off queue={queue} done={() => setAgain((n) => n + 1)} /> : <Empty title={ended ? "Nothing ended in this time" : "Nothing has ended yet"}><p>A message is here when it has been acked or cancelled, or has expired. The oldest ones come first.</p></Empty>)}
        {shown && <div class="strip">
          <span class="muted grow" role="status">{`${plural(messages!.length, "message")} of ${compact(kept)}, the oldest${s && s.partitions > 1 ? " of each partition" : ""} first`}</span>
          <button disabled={!cursor} onClick={() => change({ cursor: undefined })}>First page</button>
          <button disabled={!shown.next} onClick={() => change({ cursor: shown.next })}>Next page</button>
        </div>}
      </section>
    </>
  );
}

// Off says how the history is turned on, and does it where the reader may.
function Off({ queue, done }: { queue: string; done: () => void }) {
  const turnOn = async () => {
    await api.update(queue, { history: "24h", max_history: 10_000 });
    done();
    return `${queue} keeps what has ended for a day.`;
  };
  return (
    <Empty title="This queue keeps no history">
      <p>Messages that are acked, cancelled or expired are removed at once. With a history they are kept for a while:</p>
      <pre>{`dueq queue update ${queue} --history 24h --max-history 10000`}</pre>
      <pre>{`client.Queue(${JSON.stringify(queue)}).Update(ctx, func(s *dueq.Settings) {\n\ts.History, s.MaxHistory = 24*time.Hour, 10_000\n})`}</pre>
      {mayAdmin.value && <button onClick={() => void attempt(turnOn)}>Turn on for 24 h, up to 10,000 messages</button>}
    </Empty>
  );
}

const endings = { acked: "badge", cancelled: "badge warn", expired: "badge bad" } as const;

function Ended({ queue, messages }: { queue: string; messages: Message[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Messages that ended">
      <table>
        <thead><tr><th>message</th><th>ending</th><th>ended</th><th class="narrow-hide">sent</th><th class="number">attempts</th><th class="narrow-hide">last failure</th></tr></thead>
        <tbody>
          {messages.map((m) => (
            <tr key={m.id}>
              <td><a class="row" href={href(["queues", queue, "messages", m.id])}><bdi class="clip">{m.key ? visible(m.key) : <span class="mono">{m.id}</span>}</bdi></a></td>
              <td><span class={endings[m.ending ?? "acked"]}>{m.ending}</span></td>
              <td><Instant at={m.ended_at} /></td>
              <td class="narrow-hide"><Instant at={m.sent_at} /></td>
              <td class="number">{m.attempt}<span class="muted"> / {m.max_attempts}</span></td>
              <td class="fill narrow-hide">{m.last_failure ? <bdi class="clip failure">{visible(m.last_failure)}</bdi> : <span class="muted">none</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
