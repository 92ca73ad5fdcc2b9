call() {
  method=$1 path=$2
  shift 2
  curl -sSf -X "$method" "$WAXWING_URL$path" \
    -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' "$@"
}

# The addresses to which users may return. They are compared character by character.
call PATCH /v1/settings -d '{"redirectUris": ["http://127.0.0.1:3000/connected"]}' >/dev/null

# One link for each user who connects a mailbox. `state` is compared with the session of your own user at the return.
call POST /v1/connect-sessions -d '{
  "redirectUri": "http://127.0.0.1:3000/connected",
  "externalRef": "user-'"$(date +%s%N)"'",
  "state": "session-of-nora",
  "providers": ["google"]
}' | jq -r '"export SESSION=\(.id)", "export LINK=\(.url)"'
