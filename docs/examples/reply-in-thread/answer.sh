# Answers the next message from Zoe, in its thread.
account=$WAXWING_URL/v1/accounts/$ACCOUNT
cursor=$(curl -sSf "$WAXWING_URL/v1/changes?start=now" -H "Authorization: Bearer $WAXWING_KEY" | jq -r .nextCursor)
echo 'Waiting for a question'
while
  page=$(
    curl -sSf "$WAXWING_URL/v1/changes?cursor=$cursor&types=message.created&waitSeconds=25" \
      -H "Authorization: Bearer $WAXWING_KEY"
  )
  question=$(printf '%s' "$page" | jq -c '.items[].data.message | select(.from.address == "zoe@example.com")')
  [ -z "$question" ]
do cursor=$(printf '%s' "$page" | jq -r .nextCursor); done
printf '%s' "$question" | jq -r '"\(.from.address) asks: \(.subject)"'

entry=$(
  printf '%s' "$question" | jq '{inReplyTo: .id, to: [.from], text: "With pleasure."}' |
    curl -sSf "$account/outbox" -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' -d @- |
    jq -r .id
)
curl -sSf "$account/outbox/$entry?waitSeconds=30" -H "Authorization: Bearer $WAXWING_KEY" |
  jq -r '"\(.subject) is \(.status)"'
