// The stores on which every action is tried: in memory, in a directory, and on Redis if it is here.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";

const program = process.env.DUEQ_REDIS_SERVER ?? "redis-server";

function hasRedis() {
  try {
    execFileSync(program, ["--version"]);
    return true;
  } catch {
    return false;
  }
}

export const kinds = ["mem", "file", ...(hasRedis() ? ["redis"] : [])];

// makeStore returns the URL of an empty store, and what removes it.
export async function makeStore(kind, args = []) {
  if (kind === "mem") return { url: "mem:", remove: () => {} };
  const directory = mkdtempSync(join(tmpdir(), "dueq-web-"));
  const clean = () => rmSync(directory, { recursive: true, force: true });
  if (kind === "file") return { url: `file:${directory}`, remove: clean };
  const port = await freePort();
  const child = spawn(program, ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", directory, ...args], { stdio: "ignore" });
  for (let tries = 0; !(await answers(port)); tries++) {
    if (tries > 500) throw new Error("redis-server does not answer");
  }
  const remove = async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
    clean();
  };
  return { url: `redis://127.0.0.1:${port}`, remove };
}

export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => (socket.destroy(), resolve(true)));
    socket.on("error", () => setTimeout(() => resolve(false), 20));
  });
}
