# The three newest messages from Dora.
curl -sSf "$WAXWING_URL/v1/accounts/$ACCOUNT/messages?from=dora&limit=3" -H "Authorization: Bearer $WAXWING_KEY" |
  jq -r '.items[] | "\(.receivedAt[:10]) \(.from.address): \(.subject)"'
