call() {
  method=$1 path=$2
  shift 2
  curl -sSf -X "$method" "$WAXWING_URL$path" \
    -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' "$@"
}

# For a monitor: whether requests are served, and what waits for a person.
echo "ready: $(curl -s -o /dev/null -w '%{http_code}' "$WAXWING_URL/health/ready")"
call GET /v1/usage | jq -r '"sends today: \(.current.sendsToday)"'
call GET '/v1/accounts?status=reauth_required' | jq -r '"accounts that need their user: \(.items | length)"'
call GET "/v1/accounts/$ACCOUNT/integrity" | jq -r '"messages that the index lacks: \(.missing)"'
call GET /v1/webhooks | jq -r '"endpoints that fail: \([.items[] | select(.isEnabled | not)] | length)"'
