// The store behind the server: what it is, how it keeps messages, and what is wrong with it.

import { useEffect } from "preact/hooks";
import type { Files, Finding, RedisServer } from "../data/api";
import { bytes, count, plural } from "../data/format";
import { connection } from "../data/live";
import { useTick } from "../data/load";
import { refreshStore, store, storeProblem } from "../data/store";
import { ExactInstant, ProblemNotice } from "../parts/small";

const refreshMS = 15_000;

const kinds = { redis: "Redis", sentinel: "Redis with Sentinel", cluster: "Redis Cluster", file: "a directory", memory: "memory", other: "another store" } as const;

export function StorePage() {
  const tick = useTick(refreshMS, connection.value === "held");
  useEffect(() => void refreshStore(), [tick]);
  const is = store.value;
  return (
    <>
      <div class="head"><h1>Store</h1>{is && <span class="muted">messages are kept in {kinds[is.kind]}</span>}</div>
      <ProblemNotice problem={storeProblem.value} retry={() => void refreshStore()} />
      {is && (
        <div class="grid">
          <Findings findings={is.findings} />
          {is.servers?.map((s) => <div class={is.servers!.length > 1 ? "half even" : undefined} key={s.address ?? ""}><Server server={s} /></div>)}
          {is.files && <div><FilesCard files={is.files} /></div>}
        </div>
      )}
    </>
  );
}

const ranks = { fail: 0, warn: 1, ok: 2 } as const;
const badges = { fail: "badge bad", warn: "badge warn", ok: "badge" } as const;

export function Findings({ findings }: { findings: Finding[] }) {
  const all = [...findings].sort((a, b) => ranks[a.level] - ranks[b.level]);
  const wrong = all.filter((f) => f.level !== "ok").length;
  return (
    <section class="card flush attention">
      <header><h2>{wrong === 0 ? "Everything is fine" : wrong === 1 ? "1 thing to look at" : `${count(wrong)} things to look at`}</h2><span class="muted small"><code>dueq doctor</code> also tries each operation</span></header>
      <ul>
        {all.map((f) => (
          <li key={f.check + (f.server ?? "")} class="row" tabIndex={-1}>
            <span class={badges[f.level]}>{f.level}</span>
            <span><b>{f.check}</b>{f.server && <span class="muted"> of {f.server}</span>} <span class={f.level === "ok" ? "muted" : undefined}>{f.found}</span>{f.fix && <div class="muted">{f.fix}</div>}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Server({ server: s }: { server: RedisServer }) {
  const share = s.memory_limit > 0 ? s.memory_used / s.memory_limit : 0;
  const facts: [string, preact.ComponentChildren][] = [
    ["Role", s.role === "slave" ? "replica" : s.role],
    ["Memory", s.memory_limit > 0 ? <>{bytes(s.memory_used)} of {bytes(s.memory_limit)} <span class="share" style={{ "--share": `${100 * share}%`, "--fill": share < 0.8 ? "var(--accent)" : "var(--dead)" }} /></> : `${bytes(s.memory_used)}, no limit`],
    ["When it is full", s.eviction === "noeviction" ? "sends are refused (noeviction)" : `messages are deleted (${s.eviction})`],
    ["Append-only file", s.append_only ? "yes" : "no"],
    ["Last snapshot", <ExactInstant at={s.last_snapshot} />],
    ["Replicas", count(s.replicas)],
    ["Connections", count(s.clients)],
  ];
  return (
    <section class="card">
      <header><h2>{s.version}</h2>{s.address && <span class="muted small">{s.address}</span>}</header>
      <Facts facts={facts} />
    </section>
  );
}

const syncs: Record<string, string> = { always: "before a call returns", never: "when the operating system decides" };

function FilesCard({ files: f }: { files: Files }) {
  const facts: [string, preact.ComponentChildren][] = [
    ["Size", `${bytes(f.bytes)} in ${plural(f.segments, "file")}`],
    ["Needed", `${bytes(f.needed)}; the rest is freed bit by bit`],
    ["Changes are on the disk", syncs[f.sync] ?? `every ${f.sync}`],
    ["New messages", f.full ? "are refused: the disk is full" : "are accepted"],
  ];
  return (
    <section class="card">
      <header><h2>Files</h2></header>
      <Facts facts={facts} />
    </section>
  );
}

function Facts({ facts }: { facts: readonly [string, preact.ComponentChildren][] }) {
  return <dl class="facts">{facts.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>])}</dl>;
}
