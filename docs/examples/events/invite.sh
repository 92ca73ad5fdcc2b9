call() {
  method=$1 path=$2
  shift 2
  curl -sSf -X "$method" "$WAXWING_URL$path" \
    -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' "$@"
}

# Ada (ACCOUNT) invites Ben (BEN), who accepts.
ada=/v1/accounts/$ACCOUNT
ben=/v1/accounts/$BEN
day=$(jq -nr 'now + 3 * 86400 | strftime("%Y-%m-%d")')
range="start=${day}T00:00:00Z&end=${day}T23:59:59Z&limit=200"
event=$(
  call POST "$ada/calendar-events" -d '{
    "calendarId": "'"$(call GET "$ada/calendars" | jq -r '.items[0].id')"'",
    "subject": "Figures of May",
    "start": {"dateTime": "'"$day"'T15:00:00", "timeZone": "Europe/Berlin"},
    "end": {"dateTime": "'"$day"'T16:00:00", "timeZone": "Europe/Berlin"},
    "attendees": [{"address": "ben@gmail.test"}]
  }'
)
uid=$(printf '%s' "$event" | jq -r .iCalUid)
event=$(printf '%s' "$event" | jq -r .id)

# The invitation is in Ben's calendar as soon as that was looked at.
invitation=
while [ -z "$invitation" ]; do
  call POST "$ben/sync" -d '{"kinds": ["calendar"]}' >/dev/null
  sleep 1
  invitation=$(call GET "$ben/calendar-events?$range" | jq -c --arg uid "$uid" '.items[] | select(.iCalUid == $uid)')
done
printf '%s' "$invitation" | jq -r '"Ben is invited: \(.selfResponse)"'
call POST "$ben/calendar-events/$(printf '%s' "$invitation" | jq -r .id)/respond" -d '{"response": "accepted"}' |
  jq -r '"Ben answers: \(.selfResponse)"'

# His answer comes back in the same way.
response=
while [ "$response" != accepted ]; do
  call POST "$ada/sync" -d '{"kinds": ["calendar"]}' >/dev/null
  sleep 1
  response=$(call GET "$ada/calendar-events/$event" | jq -r '.attendees[0].response')
done
echo "Ada reads: $response"
call DELETE "$ada/calendar-events/$event" >/dev/null
