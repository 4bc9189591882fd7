// Who consumes which queue, and what they hold.

import { api, type AllMembers, type Member, type Message, type QueueMember } from "../data/api";
import { count, plural } from "../data/format";
import { connection, queues } from "../data/live";
import { collect } from "../data/pages";
import { useLoaded, useTick } from "../data/load";
import { change, href, route } from "../data/router";
import { Duty } from "../parts/duty";
import { Empty, Instant, ProblemNotice } from "../parts/small";
import { QueueHead } from "../parts/tabs";
import { visible } from "../parts/body";
import { useState } from "preact/hooks";

const refreshMS = 5000;
const mostRows = 500;
// mostHeld is how many messages are read of those that are held, in the order in which leases end.
const mostHeld = 200;

const go = (queue: string) => `err := client.Queue(${JSON.stringify(queue)}).Consume(ctx,\n\tfunc(ctx context.Context, d *dueq.Delivery) error { … }, dueq.ConsumeOptions{})`;

function NoConsumers({ queue }: { queue: string }) {
  return (
    <Empty title="No consumers">
      <p>A program in Go consumes a queue like this, and is listed here while it runs:</p>
      <pre>{go(queue)}</pre>
      <p>Programs that receive over HTTP are not listed. What they hold is.</p>
    </Empty>
  );
}

// everybody returns the consumers of all queues.
async function everybody(signal: AbortSignal): Promise<QueueMember[]> {
  const all: QueueMember[] = [];
  for (let next: string | undefined = ""; next !== undefined;) {
    const page: AllMembers = await api.allMembers(next, signal);
    all.push(...page.members);
    next = page.next;
  }
  return all;
}

export function Consumers() {
  const tick = useTick(refreshMS, connection.value === "held");
  const { value: all, problem } = useLoaded(everybody, [tick]);
  const text = route.value.query.get("name") ?? "";
  const found = all?.filter((m) => `${m.queue}\n${m.name}\n${m.client}`.toLowerCase().includes(text.toLowerCase()));
  const clients = new Set(all?.map((m) => m.client)).size;
  return (
    <>
      <div class="head"><h1>Consumers</h1></div>
      <section class="card flush">
        <header>
          <h2>{all ? `${plural(all.length, "consumer")} in ${plural(clients, "program")}` : "Consumers of all queues"}</h2>
          <input data-filter aria-label="Filter consumers by queue or name" placeholder="Filter by queue or name  /" value={text} onInput={(e) => change({ name: e.currentTarget.value || undefined }, true)} />
        </header>
        <ProblemNotice problem={problem} />
        {found && found.length > 0 && (
          <div class="scroll" tabIndex={0} role="region" aria-label="Consumers">
            <table>
              <thead><tr><th>queue</th><th>consumer</th><th class="narrow-hide">program</th><th>on duty for partitions</th><th class="number narrow-hide">held in the queue</th></tr></thead>
              <tbody>
                {found.slice(0, mostRows).map((m, i) => (
                  <tr key={m.queue + m.name}>
                    <td><a class="row" href={href(["queues", m.queue, "consumers"])}>{m.queue}</a></td>
                    <td><bdi class="mono">{visible(m.name)}</bdi></td>
                    <td class="narrow-hide"><bdi class="mono muted">{visible(m.client)}</bdi></td>
                    <td><Duty member={m} partitions={0} /></td>
                    <td class="number narrow-hide">{found[i - 1]?.queue === m.queue ? "" : count(queues.value.get(m.queue)?.leased ?? 0)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {found && found.length > mostRows && <p class="strip muted">The first {count(mostRows)} are shown; filter to see the others.</p>}
        {all?.length === 0 && <NoConsumers queue={[...queues.value.keys()][0] ?? "orders"} />}
        {all && all.length > 0 && found?.length === 0 && <p class="strip muted">No consumer has “{text}” in its queue or name.</p>}
      </section>
    </>
  );
}

export function QueueConsumers({ queue }: { queue: string }) {
  const tick = useTick(refreshMS, connection.value === "held");
  const members = useLoaded((signal) => api.members(queue, signal), [queue, tick]);
  const held = useLoaded((signal) => collect(queue, { state: "leased" }, { limit: mostHeld, rows: mostHeld }, signal), [queue, tick]);
  const settings = useLoaded((signal) => api.queue(queue, signal), [queue]);
  const all = members.value?.members;
  return (
    <>
      <QueueHead queue={queue} page="consumers" />
      <ProblemNotice problem={members.problem ?? held.problem} />
      <section class="card flush apart">
        <header><h2>{all ? plural(all.length, "consumer") : "Consumers"}</h2></header>
        {all && all.length > 0 && <Members members={all} held={held.value?.messages ?? []} partitions={settings.value?.settings.partitions ?? 0} more={held.value?.next !== undefined} />}
        {all?.length === 0 && <NoConsumers queue={queue} />}
      </section>
      {held.value && <Held queue={queue} messages={held.value.messages} />}
    </>
  );
}

function Members({ members, held, partitions, more }: { members: Member[]; held: Message[]; partitions: number; more: boolean }) {
  const [rows, setRows] = useState(100);
  const heldBy = new Map<string, number>();
  for (const m of held) heldBy.set(m.holder ?? "", (heldBy.get(m.holder ?? "") ?? 0) + 1);
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Consumers">
        <table>
          <thead><tr><th>consumer</th><th class="narrow-hide">program</th><th>on duty for partitions</th><th class="number">holds</th></tr></thead>
          <tbody>
            {members.slice(0, rows).map((m) => (
              <tr key={m.name}>
                <td><bdi class="mono">{visible(m.name)}</bdi></td>
                <td class="narrow-hide"><bdi class="mono muted">{visible(m.client)}</bdi></td>
                <td><Duty member={m} partitions={partitions} /></td>
                <td class="number">{more && "≥ "}{count(heldBy.get(m.name) ?? 0)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {members.length > rows && <p class="strip"><button onClick={() => setRows(members.length)}>Show all {count(members.length)}</button></p>}
    </>
  );
}

function Held({ queue, messages }: { queue: string; messages: Message[] }) {
  const total = queues.value.get(queue)?.leased ?? messages.length;
  return (
    <section class="card flush">
      <header>
        <h2>{messages.length < total ? `The first ${count(messages.length)} of ${plural(total, "message")} held` : `${plural(messages.length, "message")} held`}</h2>
        <a class="small" href={href(["queues", queue, "messages"], { state: "leased" })}>All held messages</a>
      </header>
      {messages.length === 0 && total > 0 ? <p class="strip muted">What is held is in one of the last partitions; “All held messages” finds it.</p> : messages.length === 0 ? <p class="strip muted">Nobody works on a message of this queue at this moment.</p> : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Held messages">
          <table>
            <thead><tr><th>message</th><th>held by</th><th>lease ends</th><th class="number narrow-hide">attempt</th></tr></thead>
            <tbody>
              {messages.map((m) => (
                <tr key={m.id}>
                  <td><a class="row" href={href(["queues", queue, "messages", m.id])}><bdi class="clip">{m.key ? visible(m.key) : <span class="mono">{m.id}</span>}</bdi></a>{m.cancelling && <> <span class="badge warn">asked to stop</span></>}</td>
                  <td>{m.holder ? <bdi class="mono">{visible(m.holder)}</bdi> : <span class="muted">not known</span>}</td>
                  <td><Instant at={m.leased_until} /></td>
                  <td class="number narrow-hide">{m.attempt}<span class="muted"> / {m.max_attempts}</span></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
