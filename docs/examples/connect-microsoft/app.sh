call() {
  method=$1 path=$2
  shift 2
  curl -sSf -X "$method" "$WAXWING_URL$path" \
    -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' "$@"
}

call POST /v1/oauth-apps -d '{
  "provider": "microsoft", "name": "Mail", "clientId": "sandbox", "clientSecret": "sandbox-secret"
}' | jq -r '"Register \(.redirectUri)", "export APP=\(.id)"'
