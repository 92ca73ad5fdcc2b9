call() {
  method=$1 path=$2
  shift 2
  curl -sSf -X "$method" "$WAXWING_URL$path" \
    -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' "$@"
}

call PATCH /v1/settings -d '{"redirectUris": ["http://127.0.0.1:3000/connected"]}' >/dev/null
call POST /v1/connect-sessions -d '{
  "redirectUri": "http://127.0.0.1:3000/connected",
  "state": "session-of-nora",
  "providers": ["microsoft"],
  "oauthAppIds": {"microsoft": "'"$APP"'"}
}' | jq -r '"export SESSION=\(.id)", "export LINK=\(.url)"'
