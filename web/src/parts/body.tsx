// The body of a message: as a tree if it is JSON, as text, or as bytes.

import { useState } from "preact/hooks";
import { bytes } from "../data/format";

type View = "tree" | "text" | "hex";

// mostShown bounds what a page shows of a body: a browser is slow with more.
const mostShown = 64 << 10;
const mostChildren = 200;

function decode(text: string | undefined, base64: string | undefined): Uint8Array {
  if (base64 !== undefined) return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return new TextEncoder().encode(text ?? "");
}

function parse(text: string | undefined): unknown {
  if (text === undefined || !/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function Body({ text, base64, size }: { text?: string; base64?: string; size: number }) {
  const value = parse(text);
  const views: View[] = [...(value === undefined ? [] : ["tree" as const]), ...(text === undefined ? [] : ["text" as const]), "hex"];
  const [chosen, setChosen] = useState<View>();
  const view = chosen && views.includes(chosen) ? chosen : views[0]!;
  return (
    <section class="card">
      <header>
        <h2>Body</h2>
        <span class="muted small">{bytes(size)}</span>
        <div class="segments" role="group" aria-label="View of the body">
          {views.map((v) => <button key={v} aria-pressed={v === view} onClick={() => setChosen(v)}>{v}</button>)}
        </div>
      </header>
      {size === 0 ? <p class="muted">The message has no body.</p> : view === "tree" ? (
        <div class="tree" tabIndex={0} role="region" aria-label="Body as a tree"><Node value={value} open /></div>
      ) : view === "text" ? <Text text={text!} /> : <Hex all={decode(text, base64)} />}
    </section>
  );
}

function Cut({ shown, of }: { shown: number; of: number }) {
  return shown < of ? <p class="muted small">The first {bytes(shown)} of {bytes(of)} are shown.</p> : null;
}

function Text({ text }: { text: string }) {
  return <><pre tabIndex={0} aria-label="Body as text">{visible(text.slice(0, mostShown))}</pre><Cut shown={mostShown} of={text.length} /></>;
}

// visible replaces control characters by pictures of them, and those that change the direction of
// text by their code, so that a body looks like what it is.
export function visible(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/\u007f/g, "\u2421")
    .replace(/[\u0080-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function Hex({ all }: { all: Uint8Array }) {
  const most = 4 << 10;
  const width = 16;
  const lines: string[] = [];
  for (let at = 0; at < Math.min(all.length, most); at += width) {
    const part = all.subarray(at, at + width);
    const hex = [...part].map((b) => b.toString(16).padStart(2, "0")).join(" ");
    const text = [...part].map((b) => (b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : "·")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${hex.padEnd(3 * width)} ${text}`);
  }
  return <><pre class="hex" tabIndex={0} aria-label="Body as bytes">{lines.join("\n")}</pre><Cut shown={most} of={all.length} /></>;
}

function Node({ name, value, open = false }: { name?: string; value: unknown; open?: boolean }) {
  const label = name !== undefined && <span class="name">{visible(name)}: </span>;
  if (value === null || typeof value !== "object") return <div class="inner">{label}<Leaf value={value} /></div>;
  const entries = Object.entries(value);
  const [first, last] = Array.isArray(value) ? "[]" : "{}";
  return (
    <details open={open || entries.length <= 8}>
      <summary>{label}{first}<span class="name">{entries.length}</span>{last}</summary>
      <div>
        {entries.slice(0, mostChildren).map(([k, v]) => <Node key={k} name={k} value={v} />)}
        {entries.length > mostChildren && <div class="inner name">and {entries.length - mostChildren} more</div>}
      </div>
    </details>
  );
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value === "string") return <span class="string">"{visible(value.slice(0, mostShown))}"</span>;
  return <span class={typeof value === "number" ? "number" : "constant"}>{String(value)}</span>;
}
