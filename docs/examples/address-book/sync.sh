call() {
  method=$1 path=$2
  shift 2
  curl -sSf -X "$method" "$WAXWING_URL$path" \
    -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' "$@"
}

# A copy of the address book in the folder `contacts`, a file for each. The position comes first, then the lists.
mkdir -p contacts
cursor=$(call GET '/v1/changes?start=now' | jq -r .nextCursor)
after=
while
  page=$(call GET "/v1/accounts/$ACCOUNT/contacts?limit=200$after")
  printf '%s' "$page" | jq -c '.items[]' | while read -r contact; do
    printf '%s' "$contact" >"contacts/$(printf '%s' "$contact" | jq -r .id)"
  done
  next=$(printf '%s' "$page" | jq -r '.nextCursor // empty')
  after="&cursor=$next"
  [ -n "$next" ]
do :; done
echo "$(ls contacts | wc -l | tr -d ' ') contacts"

types='types=contact.created&types=contact.updated&types=contact.deleted'
while page=$(call GET "/v1/changes?cursor=$cursor&$types&waitSeconds=25"); do
  cursor=$(printf '%s' "$page" | jq -r .nextCursor)
  printf '%s' "$page" | jq -c --arg account "$ACCOUNT" '.items[] | select(.accountId == $account)' |
    while read -r event; do
      file=contacts/$(printf '%s' "$event" | jq -r .data.contact.id)
      if [ "$(printf '%s' "$event" | jq -r .type)" = contact.deleted ]; then
        rm -f "$file"
        echo deleted
      else
        printf '%s' "$event" | jq -c .data.contact >"$file"
        printf '%s' "$event" |
          jq -r '"\(.type[8:]): \([.data.contact.displayName, .data.contact.jobTitle] | map(values) | join(", "))"'
      fi
    done
done
