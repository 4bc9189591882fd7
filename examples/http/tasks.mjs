// Sends delayed messages with "tasks.mjs send ADDRESS", and handles them with "tasks.mjs work".
import { setTimeout } from "node:timers/promises";

const url = (process.env.DUEQ_URL ?? "http://localhost:7373") + "/v1/queues/mail/";

async function call(verb, body) {
  const headers = { "Content-Type": "application/json" };
  if (process.env.DUEQ_TOKEN) headers.Authorization = `Bearer ${process.env.DUEQ_TOKEN}`;
  const response = await fetch(url + verb, {
    method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status}: ${text}`);
  return text ? JSON.parse(text) : {};
}

async function send(address) {
  // With the dedup_id it is safe to send again when an answer is lost: it is one message.
  const message = { body_json: { to: address }, delay: "1s", dedup_id: `welcome:${address}` };
  console.log("sent", (await call("messages", message)).id);
}

async function work() {
  for (;;) {
    try {
      const { deliveries = [] } = await call("receive", { max: 10, wait: "30s", lease: "1m" });
      const verdicts = await Promise.all(deliveries.map(verdict));
      if (verdicts.length) await call("settle", { verdicts });
    } catch (e) { // what was not settled is delivered again
      console.log("trying again:", e.message);
      await setTimeout(1000);
    }
  }
}

async function verdict(delivery) {
  try {
    await handle(delivery);
    return { receipt: delivery.receipt, verdict: "ack" };
  } catch (e) { // it is delivered again after the backoff of the queue
    return { receipt: delivery.receipt, verdict: "nack", reason: String(e) };
  }
}

async function handle(delivery) {
  const mail = JSON.parse(delivery.body);
  console.log("mail to", mail.to);
}

if (process.argv[2] === "send") await send(process.argv[3]);
else await work();
