# The best match of this word, in subject, names, addresses or text.
curl -sSfG --retry 3 "$WAXWING_URL/v1/accounts/$ACCOUNT/search/messages" -H "Authorization: Bearer $WAXWING_KEY" \
  --data-urlencode 'q=お知らせ -lunch' -d from=dora -d limit=1 |
  jq -r '"\(.source) is the source", (.items[] | "\(.receivedAt[:10]) \(.subject)")'
