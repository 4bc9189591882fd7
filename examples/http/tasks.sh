#!/bin/sh
# Sends delayed messages with "tasks.sh send ADDRESS", and handles them with "tasks.sh work". It
# needs curl, and takes one message at a time, because a shell does not read JSON.
url=${DUEQ_URL:-http://localhost:7373}/v1/queues/mail

call() {
  curl --silent --show-error --fail-with-body --max-time 60 \
    --header 'Content-Type: application/json' ${DUEQ_TOKEN:+--header "Authorization: Bearer $DUEQ_TOKEN"} \
    --data "$2" "$url/$1"
}

handle() {
  to=$(printf '%s' "$1" | sed -n 's/.*"body":"{\\"to\\":\\"\([^"\\]*\)\\"}".*/\1/p')
  [ -n "$to" ] && echo "mail to $to"
}

if [ "$1" = send ]; then
  # With the dedup_id it is safe to send again when an answer is lost: it is one message.
  call messages "{\"body_json\":{\"to\":\"$2\"},\"delay\":\"1s\",\"dedup_id\":\"welcome:$2\"}"
  exit
fi
while :; do
  received=$(call receive '{"wait":"30s","lease":"1m"}') || sleep 1
  receipt=$(printf '%s' "$received" | sed -n 's/.*"receipt":"\([^"]*\)".*/\1/p')
  [ -n "$receipt" ] || continue
  verdict='"nack","reason":"the body is not {\"to\":ADDRESS}"' # it is delivered again after the backoff of the queue
  if handle "$received"; then verdict='"ack"'; fi
  call settle "{\"verdicts\":[{\"receipt\":\"$receipt\",\"verdict\":$verdict}]}" >/dev/null
done
