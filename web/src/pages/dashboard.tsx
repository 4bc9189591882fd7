// The frame around every page.

import { useEffect } from "preact/hooks";
import { connection, follow, following, hold, known, queues } from "../data/live";
import { href, route } from "../data/router";
import { outdated, session, signOut } from "../data/session";
import { Dialogs, Toasts } from "../parts/dialog";
import { showKeys } from "../parts/keys";
import { Empty } from "../parts/small";
import { Consumers, QueueConsumers } from "./consumers";
import { DeadLetters } from "./dead";
import { History } from "./history";
import { MessagePage } from "./message";
import { Messages } from "./messages";
import { Overview } from "./overview";
import { QueuePage } from "./queue";
import { StorePage } from "./store";
import { Recurring } from "./recurring";
import { SignIn } from "./signin";

export function Dashboard() {
  const who = session.value;
  useEffect(() => {
    if (who && !following()) follow();
    else if (who === null) hold();
  }, [who === undefined, who === null, who?.name]);
  if (who === null) return <SignIn />;
  const ready = who !== undefined && known.value;
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>Skip to content</a>
      <Bar />
      <main class="shell" id="main" tabIndex={-1}>
        <Notices />
        {!ready && <Waiting />}
        <div hidden={!ready}><Page /></div>
      </main>
      <Dialogs />
      <Toasts />
    </>
  );
}

// skip moves the focus without changing the address, which names the page.
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Waiting() {
  return connection.value === "lost" ? <Empty alone title="The server does not answer">Trying again…</Empty> : null;
}

function Page() {
  const [first, queue, page, ref] = route.value.path;
  const name = queue ?? pages.find((p) => p.path === first)?.name;
  const title = name ? `${name} · dueq` : "dueq";
  useEffect(() => {
    document.title = title;
  }, [title]);
  if (first === undefined) return <Overview />;
  if (first === "consumers" && !queue) return <Consumers />;
  if (first === "store" && !queue) return <StorePage />;
  if (first !== "queues" || !queue) return <Empty alone title="There is no such page"><a href={href([])}>To the overview</a></Empty>;
  if (page === undefined) return <QueuePage key={queue} name={queue} />;
  if (page === "messages" && ref) return <MessagePage key={`${queue}/${ref}`} queue={queue} reference={ref} />;
  if (page === "messages") return <Messages key={queue} queue={queue} />;
  if (page === "dead") return <DeadLetters key={queue} queue={queue} />;
  if (page === "history") return <History key={queue} queue={queue} />;
  if (page === "recurring") return <Recurring key={queue} queue={queue} />;
  if (page === "consumers") return <QueueConsumers key={queue} queue={queue} />;
  return <Empty alone title="There is no such page"><a href={href(["queues", queue])}>To the queue</a></Empty>;
}

// pages are those about all queues.
const pages = [{ path: "consumers", name: "Consumers" }, { path: "store", name: "Store" }] as const;

function Bar() {
  const who = session.value;
  const [first, queue] = route.value.path;
  return (
    <header class="bar">
      <div>
        <a class="brand" href={href([])} aria-label="dueq, overview">
          <svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#0f766e" /><circle cx="16" cy="16" r="9" fill="none" stroke="#fff" stroke-width="2.5" /><path d="M16 10.5V16l4 2.5" fill="none" stroke="#fff" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round" /></svg>
          <span>dueq</span>
        </a>
        <nav class="pages" aria-label="Pages">
          <a class="wide-only" href={href([])} aria-current={first === undefined ? "page" : undefined}>Overview</a>
          {pages.map((p) => <a key={p.path} href={href([p.path])} aria-current={first === p.path ? "page" : undefined}>{p.name}</a>)}
        </nav>
        <nav class="trail" aria-label="Where you are">
          {queue && <><span aria-hidden="true">/</span><a href={href(["queues", queue])}>{queue}</a></>}
        </nav>
        {who?.read_only && <span class="badge">read-only</span>}
        <Status />
        <button class="plain wide-only" onClick={showKeys} aria-label="Keyboard shortcuts">?</button>
        {who?.name && <button onClick={() => void signOut()} title={`Signed in with the token ${who.name}`}>Sign out</button>}
      </div>
    </header>
  );
}

const texts = { connecting: "Connecting", live: "Live", held: "Held", lost: "Reconnecting", store: "Store is away" };

function Status() {
  const is = connection.value;
  const held = is === "held";
  return (
    <>
      <span class="status" data-is={is} role="status">{texts[is]}</span>
      <button class="steady" onClick={() => (held ? follow() : hold())} title={held ? "Show changes as they happen" : "Keep the page as it is"}>{held ? "Continue" : "Hold"}</button>
    </>
  );
}

function Notices() {
  return (
    <>
      {outdated.value && <p class="notice"><span>The server has a newer dashboard.</span><button onClick={() => location.reload()}>Reload</button></p>}
      {connection.value === "store" && <p class="notice bad" role="alert">The store does not answer. What you see is from before.</p>}
      {connection.value === "lost" && queues.value.size > 0 && <p class="notice bad" role="alert">The connection is lost; trying again. What you see is from before.</p>}
    </>
  );
}
