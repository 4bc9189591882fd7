// One queue: how it is doing, what becomes due when, who consumes it, and its settings.

import { api, states, type Member, type Problem, type Queue } from "../data/api";
import { bytes, compact, count, goSpan, plural, rate, span } from "../data/format";
import { connection, queues, series, waited } from "../data/live";
import { useLoaded, useTick } from "../data/load";
import { href } from "../data/router";
import { mayAdmin } from "../data/session";
import { ask, attempt, toast } from "../parts/dialog";
import { Duty } from "../parts/duty";
import { ForecastChart } from "../parts/forecast";
import { Plot } from "../parts/plot";
import { Empty, ProblemNotice } from "../parts/small";
import { QueueHead } from "../parts/tabs";
import { throughput } from "./overview";

const backlog = [
  { measure: "scheduled", label: "scheduled", color: "--scheduled" },
  { measure: "ready", label: "ready", color: "--ready" },
  { measure: "leased", label: "leased", color: "--leased" },
  { measure: "dead", label: "dead", color: "--dead" },
] as const;
const lateness = [{ measure: "late", label: "longest wait", color: "--ready", fill: true }] as const;
const wait = (ms: number) => (ms === 0 ? "0" : span(ms));

export function QueuePage({ name }: { name: string }) {
  const tick = useTick(5000, connection.value === "held");
  const { value: queue, problem } = useLoaded((signal) => api.queue(name, signal), [name, tick]);
  const members = useLoaded((signal) => api.members(name, signal), [name, tick]);
  const q = queues.value.get(name) ?? queue;
  if (!q) {
    return (
      <>
        <QueueHead queue={name} page="queue" />
        <Empty title="There is no such queue"><p>It may have been deleted. The first message that is sent to it makes it.</p><a href={href([])}>To all queues</a></Empty>
      </>
    );
  }
  return (
    <>
      <QueueHead queue={name} page="queue">{mayAdmin.value && q && <PauseButton name={name} paused={q.paused} />}</QueueHead>
      <ProblemNotice problem={problem} />
      <div class="tiles">
        {states.map((state) => (
          <a key={state} class="tile" href={state === "dead" ? href(["queues", name, "dead"]) : href(["queues", name, "messages"], { state })}>
            <span class="state" data-state={state}>{state}</span>
            <b title={q && count(q[state])}>{q ? compact(q[state]) : "–"}</b>
          </a>
        ))}
        <div class="tile"><span>longest wait</span><b>{q && waited(q) > 0 ? span(waited(q)) : "–"}</b></div>
      </div>
      <div class="grid">
        <div><ForecastChart queue={name} /></div>
        <div class="third even"><Plot title="Throughput" series={series(name)} lines={throughput} format={rate} /></div>
        <div class="third even"><Plot title="Backlog" series={series(name)} lines={backlog} /></div>
        <div class="third even"><Plot title="Lateness" series={series(name)} lines={lateness} least={1000} format={wait} /></div>
        <div class="half"><Consumers members={members.value?.members} problem={members.problem} queue={name} partitions={queue?.settings.partitions ?? 0} /></div>
        <div class="half">{queue && <Facts queue={queue} />}</div>
      </div>
    </>
  );
}

function PauseButton({ name, paused }: { name: string; paused: boolean }) {
  const resume = () => api.resume(name).then(() => `${name} delivers again.`);
  const pause = () =>
    ask({
      title: `Pause ${name}?`,
      confirm: "Pause",
      body: <p>No message is delivered until the queue is resumed. Messages can still be sent, and deliveries that run go on.</p>,
      run: async () => {
        await api.pause(name);
        toast(`${name} is paused.`, false, resume);
      },
    });
  return paused ? <button class="primary" onClick={() => void attempt(resume)}>Resume</button> : <button onClick={pause}>Pause</button>;
}

const mostMembers = 20;

function Consumers({ members, problem, queue, partitions }: { members: Member[] | undefined; problem?: Problem; queue: string; partitions: number }) {
  return (
    <section class="card flush">
      <header><h2>{members ? plural(members.length, "consumer") : "Consumers"}</h2><a class="small" href={href(["queues", queue, "consumers"])}>What they hold</a></header>
      <ProblemNotice problem={problem} />
      {members?.length === 0 && (
        <div class="strip muted"><p>Nobody consumes this queue. In Go: <code>client.Queue("{queue}").Consume(ctx, handle, dueq.ConsumeOptions{"{}"})</code>. Programs that receive over HTTP are not listed.</p></div>
      )}
      {members && members.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Consumers">
          <table>
            <thead><tr><th>name</th><th>on duty for partitions</th></tr></thead>
            <tbody>
              {members.slice(0, mostMembers).map((m) => (
                <tr key={m.name}>
                  <td><span class="mono">{m.name}</span></td>
                  <td><Duty member={m} partitions={partitions} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {members && members.length > mostMembers && <p class="strip muted">and {count(members.length - mostMembers)} more</p>}
    </section>
  );
}

function Facts({ queue }: { queue: Queue }) {
  const s = queue.settings;
  const c = queue.counters;
  const facts: [string, string][] = [
    ["Attempts", `${s.max_attempts || 25}${s.backoff.base === "0s" ? "" : `, after ${goSpan(s.backoff.base)} at first, up to ${goSpan(s.backoff.most)}`}`],
    ["Lease", s.lease === "0s" ? "30 s" : goSpan(s.lease)],
    ["Partitions", count(s.partitions)],
    ["Largest body", bytes(s.max_body)],
    ["Most messages", s.max_messages === 0 ? "no limit" : count(s.max_messages)],
    ["Dead letters", `${s.dead_retention === "0s" ? "kept" : `kept for ${goSpan(s.dead_retention)}`}${s.max_dead > 0 ? `, up to ${count(s.max_dead)}` : ""}`],
    ["History", s.history === "0s" ? "not kept" : `kept for ${goSpan(s.history)}, up to ${count(s.max_history)}`],
    ["Since it was made", `${plural(c.sent, "message")} sent, ${count(c.delivered)} delivered, ${count(c.acked)} acked, ${count(c.dead_lettered)} dead`],
  ];
  return (
    <section class="card">
      <header><h2>Settings</h2></header>
      <dl class="facts">{facts.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>])}</dl>
    </section>
  );
}
