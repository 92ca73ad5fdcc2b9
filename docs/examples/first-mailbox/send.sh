# Ada writes to Ben, and waits until the message is sent.
entry=$(
  curl -sSf "$WAXWING_URL/v1/accounts/$ACCOUNT/outbox" \
    -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' \
    -d '{"to": [{"address": "ben@gmail.test"}], "subject": "First message", "text": "Hello, Ben."}' |
    jq -r .id
)
curl -sSf "$WAXWING_URL/v1/accounts/$ACCOUNT/outbox/$entry?waitSeconds=30" -H "Authorization: Bearer $WAXWING_KEY" |
  jq -r '"\(.subject): \(.status)"'
