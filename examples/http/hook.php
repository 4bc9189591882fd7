<?php
// Takes the messages that "dueq serve --targets" posts: "php -S 127.0.0.1:8000 hook.php".

function signed(string $body): bool
{
    $secret = base64_decode(preg_replace('/^whsec_/', '', getenv('WEBHOOK_SECRET')), true);
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $at = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!ctype_digit($at) || abs(time() - (int) $at) > 300) { // not a request that somebody has kept
        return false;
    }
    $want = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$at.$body", $secret, true));
    foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
        if (hash_equals($want, $given)) {
            return true;
        }
    }
    return false;
}

$body = file_get_contents('php://input');
if (signed($body)) {
    error_log($_SERVER['HTTP_WEBHOOK_ID'] . ' ' . $body); // the id: to notice a repetition
    http_response_code(204); // it is acked
} else {
    http_response_code(401);
}
