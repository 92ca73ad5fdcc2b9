curl -sSf -X DELETE "$WAXWING_URL/v1/webhooks/$ENDPOINT" -H "Authorization: Bearer $WAXWING_KEY" >/dev/null
echo 'No more webhooks'
