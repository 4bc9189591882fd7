"""Sends delayed messages with "tasks.py send ADDRESS", and handles them with "tasks.py work"."""

import json
import os
import sys
import time
import urllib.error
import urllib.request

URL = os.environ.get("DUEQ_URL", "http://localhost:7373") + "/v1/queues/mail/"


def call(verb, body):
    headers = {"Content-Type": "application/json"}
    if token := os.environ.get("DUEQ_TOKEN"):
        headers["Authorization"] = "Bearer " + token
    request = urllib.request.Request(URL + verb, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        text = response.read()
    return json.loads(text) if text else {}


def send(address):
    # With the dedup_id it is safe to send again when an answer is lost: it is one message.
    message = {"body_json": {"to": address}, "delay": "1s", "dedup_id": "welcome:" + address}
    print("sent", call("messages", message)["id"])


def work():
    while True:
        try:
            received = call("receive", {"max": 10, "wait": "30s", "lease": "1m"})
            verdicts = [verdict(delivery) for delivery in received.get("deliveries", [])]
            if verdicts:
                call("settle", {"verdicts": verdicts})
        except (urllib.error.URLError, TimeoutError) as e:  # what was not settled is delivered again
            print("trying again:", e, flush=True)
            time.sleep(1)


def verdict(delivery):
    try:
        handle(delivery)
        return {"receipt": delivery["receipt"], "verdict": "ack"}
    except Exception as e:  # it is delivered again after the backoff of the queue
        return {"receipt": delivery["receipt"], "verdict": "nack", "reason": repr(e)}


def handle(delivery):
    mail = json.loads(delivery["body"])
    print("mail to", mail["to"], flush=True)


if sys.argv[1] == "send":
    send(sys.argv[2])
else:
    work()
