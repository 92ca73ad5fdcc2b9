# Signs a new user of the sandbox in, in place of a person with a browser.
user=nora-$(date +%s)$$@office.test
curl -sSf "$SANDBOX_URL/users" -d '{"email": "'"$user"'", "provider": "microsoft", "messages": 3}' >/dev/null
echo "The sandbox has $user"

# The page of the service, and Continue on it.
nonce=$(curl -sSf -c jar "$LINK" | sed -n 's/.*name="nonce" value="\([^"]*\)".*/\1/p' | head -1)
provider_url=$(
  curl -s -b jar -c jar "$LINK" -H "Origin: $WAXWING_URL" -o page.html -w '%{redirect_url}' \
    --data-urlencode do=continue --data-urlencode provider=microsoft --data-urlencode "nonce=$nonce"
)
# The pages of the provider, and the way back.
callback=$(
  jq -n --arg url "$provider_url" --arg user "$user" '{$url, $user}' |
    curl -sSf "$SANDBOX_URL/authorizations" -d @- | jq -r .redirectUrl
)
end=$(curl -s -b jar -o page.html -w '%{redirect_url}' "$callback")
echo "The browser is at $end"
