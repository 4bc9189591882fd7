// A dueq server of a test's own, and requests to it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export class Server {
  // start starts the program with a store. With a port it takes the place of one that was stopped.
  static async start({ store = "mem:", listen = "127.0.0.1:0", args = [] } = {}) {
    const child = spawn(process.env.DUEQ, ["serve", "--store", store, "--listen", listen, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let log = "";
    child.stderr.on("data", (data) => (log += data));
    const server = new Server();
    server.workers = [];
    server.child = child;
    server.log = () => log;
    const line = await Promise.race([
      once(createInterface(child.stdout), "line").then(([text]) => text),
      once(child, "exit").then(() => Promise.reject(new Error(`the server has ended:\n${log}`))),
    ]);
    server.url = line.trim();
    return server;
  }

  async stop() {
    for (const worker of this.workers.splice(0)) {
      worker.kill("SIGKILL");
      if (worker.exitCode === null && worker.signalCode === null) await once(worker, "exit");
    }
    if (this.child.exitCode !== null) return;
    this.child.kill("SIGTERM");
    await once(this.child, "exit");
  }

  async call(method, path, body) {
    const init = { method };
    if (body !== undefined) Object.assign(init, { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
    const response = await fetch(`${this.url}/v1/${path}`, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  // message returns a message of a state. A page can be empty although another has one.
  async message(queue, state) {
    for (let cursor = ""; cursor !== undefined; ) {
      const page = await this.call("GET", `queues/${queue}/messages?state=${state}&limit=1&cursor=${encodeURIComponent(cursor)}`);
      if (page.messages.length > 0) return page.messages[0];
      cursor = page.next;
    }
    throw new Error(`no message of ${queue} is ${state}`);
  }

  send(queue, messages) {
    return this.call("POST", `queues/${queue}/batch`, { messages });
  }

  // work starts a program that runs a command for each message of a queue. It ends with the server.
  work(queue, command) {
    const child = spawn(process.env.DUEQ, ["work", "--store", this.url, "--queue", queue, "--exec", command, "--grace", "0s"], { stdio: "ignore" });
    this.workers.push(child);
  }

  // settle receives messages that are due and settles each as verdictOf says.
  async settle(queue, max, verdictOf) {
    const answer = await this.call("POST", `queues/${queue}/receive`, { max, lease: "10m" });
    const verdicts = (answer?.deliveries ?? []).map((d, i) => ({ delivery: d, verdict: verdictOf(d, i) })).filter((v) => v.verdict);
    if (verdicts.length > 0) await this.call("POST", `queues/${queue}/settle`, { verdicts: verdicts.map((v) => ({ receipt: v.delivery.receipt, ...v.verdict })) });
    return answer?.deliveries ?? [];
  }
}
