# Prints new mail. The file `cursor` has the position in the feed.
feed=$WAXWING_URL/v1/changes
if [ ! -f cursor ]; then
  curl -sSf "$feed?start=now" -H "Authorization: Bearer $WAXWING_KEY" | jq -r .nextCursor >cursor
fi
echo Following
while page=$(
  curl -sSf "$feed?cursor=$(cat cursor)&types=message.created&waitSeconds=25" -H "Authorization: Bearer $WAXWING_KEY"
); do
  printf '%s' "$page" |
    jq -r '.items[].data.message | select(.direction == "inbound") | "\(.from.address): \(.subject)"' || break
  # Saved when the events before it were handled. A crash amid writing must not leave half a cursor.
  printf '%s' "$page" | jq -r .nextCursor >cursor.new || break
  mv cursor.new cursor
done
