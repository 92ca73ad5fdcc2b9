call() {
  method=$1 path=$2
  shift 2
  curl -sSf -X "$method" "$WAXWING_URL$path" \
    -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' "$@"
}

# A return is only a message from a browser, so the service is asked.
session=$(call GET "/v1/connect-sessions/$SESSION")
printf '%s' "$session" | jq -r .status
call GET "/v1/accounts/$(printf '%s' "$session" | jq -r .accountId)" | jq -r '"\(.email) is \(.status)"'
