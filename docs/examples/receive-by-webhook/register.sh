# Events of new mail are posted to this machine. The secret is shown only now.
curl -sSf "$WAXWING_URL/v1/webhooks" \
  -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' \
  -d '{"url": "http://127.0.0.1:'"$PORT"'/waxwing",
       "filters": {"eventTypes": ["message.created"], "accountIds": ["'"$ACCOUNT"'"]}}' |
  jq -r '"export ENDPOINT=\(.endpoint.id)", "export WEBHOOK_SECRET=\(.secret)"'
