import { useState } from "preact/hooks";
import type { Problem } from "../data/api";
import { toProblem } from "../data/load";
import { signIn } from "../data/session";

export function SignIn() {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await signIn(token.trim());
    } catch (error) {
      setProblem(toProblem(error));
      setBusy(false);
    }
  };
  return (
    <main class="signin">
      <form class="card" onSubmit={(event) => void submit(event)}>
        <h1>Sign in to dueq</h1>
        <p class="muted">This server asks for a token. An operator makes one with <code>dueq token</code>; to look, it needs the scope <code>read</code>.</p>
        <label>Token<input type="password" autocomplete="current-password" value={token} onInput={(e) => setToken(e.currentTarget.value)} required /></label>
        <p class="error" role="alert">{problem && (problem.status === 401 ? "The token is not known." : problem.message)}</p>
        <button class="primary" disabled={busy || token.trim() === ""}>Sign in</button>
      </form>
    </main>
  );
}
