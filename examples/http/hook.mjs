// Takes the messages that "dueq serve --targets" posts, on 127.0.0.1 and $PORT.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const secret = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");

function signed(headers, body) {
  const at = headers["webhook-timestamp"];
  if (!(Math.abs(Date.now() / 1000 - Number(at)) <= 300)) return false; // not a request that somebody has kept
  const sum = createHmac("sha256", secret).update(`${headers["webhook-id"]}.${at}.`).update(body);
  const want = Buffer.from("v1," + sum.digest("base64"));
  return (headers["webhook-signature"] ?? "").split(" ").some((one) => {
    const given = Buffer.from(one);
    return given.length === want.length && timingSafeEqual(given, want);
  });
}

createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray());
  if (signed(request.headers, body)) {
    console.log(request.headers["webhook-id"], body.toString()); // the id: to notice a repetition
    response.writeHead(204).end(); // it is acked
  } else {
    response.writeHead(401).end();
  }
}).listen(Number(process.env.PORT ?? 8000), "127.0.0.1");
