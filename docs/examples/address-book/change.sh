call() {
  method=$1 path=$2
  shift 2
  curl -sSf -X "$method" "$WAXWING_URL$path" \
    -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' "$@"
}

contacts=/v1/accounts/$ACCOUNT/contacts
id=$(
  call POST "$contacts" -d '{
    "displayName": "Grace Hopper",
    "emails": [{"address": "grace@example.org", "type": "work"}]
  }' | jq -r .id
)
call PATCH "$contacts/$id" -d '{"jobTitle": "Rear Admiral"}' |
  jq -r '"\(.displayName) has the address \(.emails[0].address)"'
call DELETE "$contacts/$id" >/dev/null
