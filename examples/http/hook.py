"""Takes the messages that "dueq serve --targets" posts, on 127.0.0.1 and $PORT."""

import base64
import hashlib
import hmac
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))


def signed(headers, body):
    message_id, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not at.isdigit() or abs(time.time() - int(at)) > 300:  # not a request that somebody has kept
        return False
    content = f"{message_id}.{at}.".encode() + body
    want = "v1," + base64.b64encode(hmac.digest(SECRET, content, hashlib.sha256)).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(want.encode(), one.encode()) for one in given)


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if signed(self.headers, body):
            print(self.headers["webhook-id"], body.decode(), flush=True)  # the id: to notice a repetition
            self.send_response(204)  # it is acked
        else:
            self.send_response(401)
        self.end_headers()


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8000"))), Hook).serve_forever()
