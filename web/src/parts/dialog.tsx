// Questions that are asked before something is changed, and what came of it.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../data/api";
import { toProblem } from "../data/load";
import { sentence } from "./small";

interface Toast {
  id: number;
  text: string;
  bad: boolean;
  undo?: () => Promise<string>;
}

const toasts = signal<Toast[]>([]);
let lastToast = 0;
const toastMS = 6000;

// toast says what was done; with undo it offers for a while to take that back.
export function toast(text: string, bad = false, undo?: () => Promise<string>): void {
  const id = ++lastToast;
  toasts.value = [...toasts.value, { id, text, bad, undo }];
  setTimeout(() => dismiss(id), undo ? 3 * toastMS : bad ? 2 * toastMS : toastMS);
}

const dismiss = (id: number) => (toasts.value = toasts.value.filter((t) => t.id !== id));

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((t) => (
        <div key={t.id} class={t.bad ? "toast bad" : "toast"}>
          <span class="grow">{t.text}</span>
          {t.undo && <button onClick={() => (dismiss(t.id), void attempt(t.undo!))}>Undo</button>}
          <button class="plain" aria-label="Dismiss" onClick={() => dismiss(t.id)}>×</button>
        </div>
      ))}
    </div>
  );
}

// attempt does something and says how it went. It reports whether it went well.
export async function attempt(what: () => Promise<string>, undo?: () => Promise<string>): Promise<boolean> {
  try {
    toast(await what(), false, undo);
    return true;
  } catch (error) {
    toast(sentence(toProblem(error)), true);
    return false;
  }
}

export interface Question {
  title: string;
  confirm: string; // the text of the button
  typed?: string; // must be typed first: what is done cannot be undone
  danger?: boolean;
  body?: ComponentChildren;
  run: () => Promise<void>;
  ready?: () => boolean;
}

const asked = signal<Question | null>(null);

export function ask(question: Question): void {
  asked.value = question;
}

export function Dialogs() {
  const question = asked.value;
  return question && <Ask key={question.title} question={question} />;
}

function Ask({ question }: { question: Question }) {
  const at = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => at.current!.showModal(), []);
  const close = () => (asked.value = null);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await question.run();
      close();
    } catch (error) {
      setProblem(toProblem(error));
      setBusy(false);
    }
  };
  const blocked = busy || (question.typed !== undefined && typed !== question.typed) || question.ready?.() === false;
  return (
    <dialog ref={at} onClose={close} aria-labelledby="question">
      <form onSubmit={(event) => void submit(event)}>
        <h2 id="question">{question.title}</h2>
        {question.body}
        {question.typed !== undefined && (
          <label>
            <span>Type <b class="mono">{question.typed}</b> to confirm; this cannot be undone.</span>
            <input value={typed} onInput={(event) => setTyped(event.currentTarget.value)} autocomplete="off" spellcheck={false} />
          </label>
        )}
        {problem && <p class="error" role="alert">{sentence(problem)}</p>}
        <footer>
          <button type="button" onClick={() => at.current!.close()}>Cancel</button>
          <button type="submit" class={question.danger ? "primary danger" : "primary"} disabled={blocked}>{busy ? "Working…" : question.confirm}</button>
        </footer>
      </form>
    </dialog>
  );
}
