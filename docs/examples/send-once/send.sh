# The key names what is to be done: the invoice of your own database. The same key sends once.
key=invoice-${INVOICE:?is not set}
send() {
  curl -sSf -D head "$WAXWING_URL/v1/accounts/$ACCOUNT/outbox" \
    -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' -H "Idempotency-Key: $key" \
    -d '{"to": [{"address": "ben@gmail.test"}], "subject": "Invoice '"$INVOICE"'", "text": "Please find it attached."}' |
    jq -r .id
}

first=$(send)
grep -qi '^idempotent-replayed: true' head && echo 'first: repeated' || echo 'first: new'
# If the answer is lost, nobody knows whether the message was sent. So the program asks again.
second=$(send)
grep -qi '^idempotent-replayed: true' head && echo 'second: repeated' || echo 'second: new'
[ "$first" = "$second" ] && echo 'the same message: true'
curl -sSf "$WAXWING_URL/v1/accounts/$ACCOUNT/outbox/$first?waitSeconds=30" -H "Authorization: Bearer $WAXWING_KEY" |
  jq -r '"\(.subject): \(.status)"'
