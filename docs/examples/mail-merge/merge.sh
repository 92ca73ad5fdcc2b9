# Max has asked by phone to be left out.
curl -sSf "$WAXWING_URL/v1/suppressions/newsletter/entries" \
  -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' \
  -d '{"addresses": ["max@example.org"], "reason": "Asked by phone"}' >/dev/null

# The key makes it one merge a month, however often this runs.
items=$(
  curl -sSf "$WAXWING_URL/v1/accounts/$ACCOUNT/mail-merges" \
    -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' -H "Idempotency-Key: news-$(date +%Y-%m)" \
    -d '{
      "listId": "newsletter",
      "render": {
        "subject": "News for {{params.name}}",
        "html": "<p>Dear {{params.name}}, there is news.</p><p><a href=\"{{rcpt.unsubscribeUrl}}\">Unsubscribe</a></p>"
      },
      "entries": [
        {"to": {"address": "ben@gmail.test"}, "params": {"name": "Ben"}},
        {"to": {"address": "max@example.org"}, "params": {"name": "Max"}}
      ]
    }'
)
printf '%s' "$items" | jq -r '.items[] | "\(.address): \(.error.reason // "queued")"'
entry=$(printf '%s' "$items" | jq -r .items[0].outboxId)
curl -sSf "$WAXWING_URL/v1/accounts/$ACCOUNT/outbox/$entry?waitSeconds=30" -H "Authorization: Bearer $WAXWING_KEY" |
  jq -r '"\(.subject): \(.status)"'
