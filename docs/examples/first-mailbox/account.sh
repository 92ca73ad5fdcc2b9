# The newest account, and its id for the programs to come.
curl -sSf "$WAXWING_URL/v1/accounts?limit=1" -H "Authorization: Bearer $WAXWING_KEY" |
  jq -r '.items[0] | "\(.email) is \(.status)", "export ACCOUNT=\(.id)"'
