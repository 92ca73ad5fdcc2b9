call() {
  method=$1 path=$2
  shift 2
  curl -sSf -X "$method" "$WAXWING_URL$path" \
    -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' "$@"
}

# A mailbox of its own for each run, and a refresh token as if its user had consented.
user=test-$(date +%s)$$@gmail.test
curl -sSf "$SANDBOX_URL/users" -d '{"email": "'"$user"'", "messages": 3}' >/dev/null
token=$(curl -sSf "$SANDBOX_URL/grants" -d '{
  "user": "'"$user"'", "clientId": "sandbox",
  "scopes": ["openid", "email", "profile", "https://www.googleapis.com/auth/gmail.modify"]
}' | jq -r .refreshToken)
account=$(call POST /v1/accounts -d '{"provider": "google", "refreshToken": "'"$token"'"}' | jq -r .id)
echo "$user is connected"

until [ "$(call GET "/v1/accounts/$account" | jq .initializedAt)" != null ]; do sleep 1; done
messages=$(call GET "/v1/accounts/$account/messages?limit=200" | jq '.items | length')
echo "$messages messages are indexed"

cursor=$(call GET '/v1/changes?start=now' | jq -r .nextCursor)
printf 'From: Zoe <zoe@example.com>\r\nSubject: Hello\r\n\r\nHow are you?\r\n' |
  curl -sSf --data-binary @- "$SANDBOX_URL/users/$user/messages" >/dev/null
subject=
while [ -z "$subject" ]; do
  page=$(call GET "/v1/changes?cursor=$cursor&types=message.created&waitSeconds=25")
  cursor=$(printf '%s' "$page" | jq -r .nextCursor)
  subject=$(
    printf '%s' "$page" |
      jq -r --arg account "$account" '.items[] | select(.accountId == $account) | .data.message.subject'
  )
done
echo "The event reports: $subject"

call DELETE "/v1/accounts/$account?purge=true" >/dev/null
echo 'The account is deleted'
