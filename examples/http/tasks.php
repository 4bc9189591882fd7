<?php
// Sends delayed messages with "tasks.php send ADDRESS", and handles them with "tasks.php work".

function call(string $verb, array $body): array
{
    $url = (getenv('DUEQ_URL') ?: 'http://localhost:7373') . '/v1/queues/mail/' . $verb;
    $header = ['Content-Type: application/json'];
    if ($token = getenv('DUEQ_TOKEN')) {
        $header[] = 'Authorization: Bearer ' . $token;
    }
    $text = @file_get_contents($url, false, stream_context_create(['http' => [
        'method' => 'POST', 'header' => $header, 'content' => json_encode($body), 'timeout' => 60, 'ignore_errors' => true,
    ]]));
    if ($text === false) {
        throw new RuntimeException('no answer');
    }
    $status = (int) explode(' ', $http_response_header[0])[1];
    if ($status >= 300) {
        throw new RuntimeException("$status: $text");
    }
    return $text === '' ? [] : json_decode($text, true, 32, JSON_THROW_ON_ERROR);
}

function send(string $address): void
{
    // With the dedup_id it is safe to send again when an answer is lost: it is one message.
    $message = ['body_json' => ['to' => $address], 'delay' => '1s', 'dedup_id' => "welcome:$address"];
    echo 'sent ', call('messages', $message)['id'], "\n";
}

function work(): void
{
    while (true) {
        try {
            $received = call('receive', ['max' => 10, 'wait' => '30s', 'lease' => '1m']);
            $verdicts = array_map('verdict', $received['deliveries'] ?? []);
            if ($verdicts) {
                call('settle', ['verdicts' => $verdicts]);
            }
        } catch (Exception $e) { // what was not settled is delivered again
            echo 'trying again: ', $e->getMessage(), "\n";
            sleep(1);
        }
    }
}

function verdict(array $delivery): array
{
    try {
        handle($delivery);
        return ['receipt' => $delivery['receipt'], 'verdict' => 'ack'];
    } catch (Exception $e) { // it is delivered again after the backoff of the queue
        return ['receipt' => $delivery['receipt'], 'verdict' => 'nack', 'reason' => $e->getMessage()];
    }
}

function handle(array $delivery): void
{
    $mail = json_decode($delivery['body'], true, 32, JSON_THROW_ON_ERROR);
    echo 'mail to ', $mail['to'], "\n";
}

$argv[1] === 'send' ? send($argv[2]) : work();
