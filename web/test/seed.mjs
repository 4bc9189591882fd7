// Data that looks like that of real programs: departures of flights, and webhooks to shops.

const minute = 60_000;

// random returns the same numbers each time.
function random(seed) {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

const airports = ["LHR", "CDG", "FRA", "AMS", "MAD", "BCN", "FCO", "MUC", "ZRH", "VIE", "CPH", "OSL", "ARN", "HEL", "DUB", "LIS"];
const airlines = ["BA", "AF", "LH", "KL", "IB", "LX", "OS", "SK", "AY", "EI", "TP"];

export async function flights(server, n = 4000) {
  const next = random(7);
  const pick = (all) => all[Math.floor(next() * all.length)];
  await server.call("PUT", "queues/flights", { partitions: 4, history: "24h", max_history: 10000 });
  const messages = [];
  for (let i = 0; i < n; i++) {
    // Two waves in a day, as at an airport.
    const wave = next() < 0.5 ? 130 : 700;
    const due = next() < 0.3 ? 1440 * next() : Math.abs(wave + 220 * (next() + next() + next() - 1.5));
    const flight = `${pick(airlines)}${100 + Math.floor(next() * 900)}`;
    const from = pick(airports);
    messages.push({
      body: JSON.stringify({ flight, from, to: pick(airports.filter((a) => a !== from)), gate: `${pick(["A", "B", "C"])}${1 + Math.floor(next() * 40)}`, passengers: 60 + Math.floor(next() * 240), crew: { captain: pick(["Meyer", "Dubois", "Rossi", "Larsen"]), cabin: 4 }, codeshares: [pick(airlines), pick(airlines)] }),
      key: `${flight}-${i}`, headers: { airline: flight.slice(0, 2), "content-type": "application/json" }, delay: `${Math.round(due * minute)}ms`,
    });
  }
  for (let i = 0; i < messages.length; i += 1000) await server.send("flights", messages.slice(i, i + 1000));
}

const failures = [
  [58, "503 Service Unavailable: upstream connect error or disconnect before headers"],
  [31, "Post \"https://shop.example/hooks\": context deadline exceeded"],
  [14, "404 Not Found: no such endpoint"],
  [9, "401 Unauthorized: signature has expired"],
  [4, "x509: certificate has expired or is not yet valid"],
];

export async function webhooks(server) {
  const next = random(11);
  await server.call("PUT", "queues/webhooks", { partitions: 2, max_attempts: 3, backoff: { base: "1m", most: "1h" } });
  const total = failures.reduce((n, [count]) => n + count, 0);
  const hook = (i) => ({
    body: JSON.stringify({ event: i % 3 ? "order.paid" : "order.refunded", order: 10_000 + i, amount: Math.round(next() * 20_000) / 100, currency: "EUR", customer: { id: `cus_${(next() * 1e9).toString(36).slice(0, 6)}`, country: "DE" }, lines: [{ sku: "LAMP-3", quantity: 2 }, { sku: "CABLE-1M", quantity: 1 }] }),
    key: `order-${10_000 + i}`, headers: { tenant: ["acme", "globex", "initech"][i % 3], event: i % 3 ? "order.paid" : "order.refunded" },
  });
  await server.send("webhooks", Array.from({ length: total }, (_, i) => hook(i)));
  for (const reason of ["connect: connection refused", "503 Service Unavailable: upstream connect error"]) await server.settle("webhooks", total, () => ({ verdict: "nack", reason, delay: "0s" }));
  const reasons = failures.flatMap(([count, text]) => Array(count).fill(text));
  await server.settle("webhooks", total, (_, i) => ({ verdict: "reject", reason: reasons[i] }));
  await server.send("webhooks", Array.from({ length: 260 }, (_, n) => ({ ...hook(1000 + n), delay: `${Math.round(20 * minute * next() * next() * 6)}ms` })));
  await server.send("webhooks", Array.from({ length: 18 }, (_, n) => hook(2000 + n)));
  await server.settle("webhooks", 4, () => null);
}

export async function others(server) {
  for (const [name, n] of [["invoices", 120], ["mail-confirm", 830], ["mail-digest", 64], ["trial-ends", 310]]) {
    const next = random(n);
    await server.send(name, Array.from({ length: n }, (_, i) => ({ body: `message ${i}`, delay: `${Math.round(1400 * minute * next())}ms` })));
  }
  await server.call("POST", "queues/mail-digest/pause");
}

// reports sends messages that recur, some of which have failed lately.
export async function reports(server) {
  const series = [
    ["daily-settlement", "cron 0 6 * * * Europe/Berlin"], ["weekly-digest", "cron 30 8 * * MON Europe/Berlin"], ["monthly-invoices", "cron 0 5 1 * * UTC"],
    ["currency-rates", "every 10m"], ["expire-sessions", "every 15m"], ["rebuild-search", "cron 15 2 * * * UTC"], ["stock-levels", "every 1h"], ["certificates", "cron @daily UTC"],
  ];
  await server.call("PUT", "queues/reports", {});
  for (const [key, repeat] of series) await server.call("POST", "queues/reports/messages", { key, repeat, body: JSON.stringify({ report: key }) });
  for (const key of ["currency-rates", "stock-levels", "rebuild-search"]) await server.call("POST", `queues/reports/messages/key:${key}/reschedule`, { delay: "0s" });
  await server.settle("reports", 10, (d) => (d.key === "currency-rates" ? { verdict: "nack", reason: "GET https://rates.example/eur: 502 Bad Gateway", delay: "2m" } : { verdict: "ack" }));
}

// crew reports consumers of queues, each of which holds some messages.
export async function crew(server, queues) {
  for (const [queue, names] of Object.entries(queues)) {
    await server.send(queue, Array.from({ length: 4 * names.length }, (_, i) => ({ key: `${queue}-${100 + 7 * i}`, body: "{}" })));
    const { settings } = await server.call("GET", `queues/${queue}`);
    for (const [i, name] of names.entries()) {
      const join = [{ queue, consumer: name }];
      await server.call("POST", "store/beat", { request: { client: `${queue}-service-${1 + (i >> 1)}`, ttl: 600_000, join } });
      const claim = { consumer: name, number: 1, max: 1 + ((2 * i + 1) % 4), lease: 140_000 + 9000 * i };
      await server.call("POST", "store/claim", { queue, partition: i % settings.partitions, request: claim });
    }
    await server.call("POST", `queues/${queue}/purge`, { filter: { state: "ready" } });
    await server.call("POST", "store/duties", { request: names.map((consumer) => ({ queue, consumer, partitions: settings.partitions })) });
  }
}
