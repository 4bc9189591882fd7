// One message: what it says, what happened to it, and what can be done about it.

import { useState } from "preact/hooks";
import { api, type Failure, type Message } from "../data/api";
import { count } from "../data/format";
import { connection } from "../data/live";
import { useLoaded, useTick } from "../data/load";
import { href } from "../data/router";
import { mayAdmin, mayProduce } from "../data/session";
import { askCancel, askDelete, askReschedule, putBack, redriveSelected } from "../parts/actions";
import { Body, visible } from "../parts/body";
import { attempt } from "../parts/dialog";
import { Empty, ExactInstant, ProblemNotice, StateName } from "../parts/small";

export function MessagePage({ queue, reference }: { queue: string; reference: string }) {
  const tick = useTick(3000, connection.value === "held");
  const [again, setAgain] = useState(0);
  const { value: m, problem } = useLoaded((signal) => api.message(queue, reference, signal), [queue, reference, tick, again]);
  const gone = problem?.code === "not_found";
  if (!m && gone) {
    return (
      <Empty alone title="This message is gone">
        <p>It was acknowledged, cancelled or removed. With the setting history a queue keeps what has ended.</p>
        <a href={href(["queues", queue, "messages"])}>To the messages of {queue}</a>
      </Empty>
    );
  }
  if (!m) return <ProblemNotice problem={problem} retry={() => setAgain((n) => n + 1)} />;
  return (
    <>
      <div class="head">
        <div class="grow">
          <h1><bdi>{m.key ? visible(m.key) : m.id}</bdi></h1>
          <StateName state={m.state} />{m.cancelling && <> <span class="badge warn">asked to stop</span></>}
        </div>
        {!gone && <Actions queue={queue} message={m} done={() => setAgain((n) => n + 1)} />}
      </div>
      {gone ? <p class="notice">The message is gone by now. This is what it was.</p> : <ProblemNotice problem={problem} />}
      {m.last_failure && (
        <section class="card apart">
          <header><h2>{m.state === "dead" ? "Why it died" : "Last failure"}</h2><a class="small" href={href(["queues", queue, "messages"], { state: m.state === "dead" ? "dead" : undefined, failure: m.last_failure })}>Others with this failure</a></header>
          <p class="failure">{visible(m.last_failure)}</p>
        </section>
      )}
      <div class="grid">
        <div class="two-thirds"><Body text={m.body} base64={m.body_base64} size={m.body_size} /><Headers message={m} /></div>
        <div class="third"><Timeline message={m} /><Facts message={m} /></div>
      </div>
    </>
  );
}

function Actions({ queue, message: m, done }: { queue: string; message: Message; done: () => void }) {
  const waiting = m.state === "scheduled" || m.state === "ready";
  const runNow = () => api.reschedule(queue, m.id, { delay: "0s" }).then(() => (done(), "The message is due now."));
  return (
    <div class="actions">
      {mayProduce.value && m.state === "scheduled" && <button class="primary" onClick={() => void attempt(runNow, m.due ? putBack(queue, m.id, m.due, done) : undefined)}>Run now</button>}
      {mayProduce.value && waiting && <button onClick={() => askReschedule(queue, m.id, m.due, done)}>Reschedule…</button>}
      {mayAdmin.value && m.state === "dead" && <button class="primary" onClick={() => void attempt(() => redriveSelected(queue, [m.id], done))}>Redrive</button>}
      <button onClick={() => void attempt(() => copy(curl(queue, m), "The command is copied."))}>Copy as curl</button>
      {mayProduce.value && (waiting || m.state === "leased") && <button class="danger" onClick={() => askCancel(queue, m.id, done)}>Cancel…</button>}
      {mayAdmin.value && m.state === "dead" && <button class="danger" onClick={() => askDelete(queue, [m.id], done)}>Delete…</button>}
    </div>
  );
}

async function copy(text: string, said: string): Promise<string> {
  await navigator.clipboard.writeText(text);
  return said;
}

// curl returns a command that sends the message again, as another one.
function curl(queue: string, m: Message): string {
  const body = { ...(m.body !== undefined && { body: m.body }), ...(m.body_base64 !== undefined && { body_base64: m.body_base64 }), key: m.key, headers: m.headers };
  const quoted = JSON.stringify(body).replaceAll("'", String.raw`'\''`);
  return `curl --json '${quoted}' \\\n  ${location.origin}${location.pathname}v1/queues/${queue}/messages`;
}

function Timeline({ message: m }: { message: Message }) {
  const steps: { color: string; what: string; at?: string; more?: string; text?: string }[] = [{ color: "--scheduled", what: "Sent", at: m.sent_at }];
  const kept = (m.recent_failures ?? []).toReversed();
  const before = m.failures + m.snoozes - kept.length;
  if (before > 0) steps.push({ color: "--line-strong", what: `${count(before)} more failed or snoozed`, more: "no texts are kept of them" });
  for (const f of kept) steps.push({ color: snoozed(f) ? "--ready" : "--dead", what: `${snoozed(f) ? "Snoozed" : "Failed"} at attempt ${count(f.attempt)}`, at: f.at, text: f.text });
  if (m.due) steps.push({ color: m.state === "ready" ? "--ready" : "--scheduled", what: m.failures > 0 ? "Next attempt" : "Due", at: m.due });
  if (m.leased_until) steps.push({ color: "--leased", what: "Held by a consumer; its lease ends", at: m.leased_until, more: m.holder });
  if (m.died_at) steps.push({ color: "--dead", what: "Died", at: m.died_at });
  if (m.ended_at) steps.push({ color: "--done", what: m.ending ?? "done", at: m.ended_at });
  if (m.expires_at) steps.push({ color: "--line-strong", what: "Expires unless it was delivered before", at: m.expires_at });
  return (
    <section class="card">
      <header><h2>Timeline</h2></header>
      <ol class="timeline">
        {steps.map((s) => (
          <li key={s.what} style={{ "--mark": `var(${s.color})` }}>
            <b>{s.what}</b>{s.more && <span class="muted"> {s.more}</span>}
            {s.text && <div class="failure">{visible(s.text)}</div>}
            {s.at && <div class="small"><ExactInstant at={s.at} /></div>}
          </li>
        ))}
      </ol>
    </section>
  );
}

const snoozed = (f: Failure) => f.text === "snoozed" || f.text.startsWith("snoozed: ");

function Headers({ message: m }: { message: Message }) {
  const all = Object.entries(m.headers ?? {});
  return (
    <section class="card">
      <header><h2>Headers</h2></header>
      {all.length === 0 ? <p class="muted">The message has no headers.</p> : (
        <dl class="facts">{all.map(([name, value]) => [<dt key={name} class="mono">{visible(name)}</dt>, <dd key={`${name} value`} class="mono"><bdi>{visible(value)}</bdi></dd>])}</dl>
      )}
    </section>
  );
}

function Facts({ message: m }: { message: Message }) {
  const facts: [string, preact.ComponentChildren][] = [
    ["Id", <span class="mono">{m.id}</span>],
    ["Queue", <a href={href(["queues", m.queue])}>{m.queue}</a>],
    ["Attempts", `${m.attempt} of ${m.max_attempts}`],
    ["Deliveries", count(m.token)],
    ...(m.repeat ? [["Repeats", m.repeat] as [string, string]] : []),
  ];
  return (
    <section class="card">
      <header><h2>Facts</h2></header>
      <dl class="facts">{facts.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>])}</dl>
    </section>
  );
}
