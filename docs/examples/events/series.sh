call() {
  method=$1 path=$2
  shift 2
  curl -sSf -X "$method" "$WAXWING_URL$path" \
    -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' "$@"
}

events=/v1/accounts/$ACCOUNT/calendar-events
calendar=$(call GET "/v1/accounts/$ACCOUNT/calendars" | jq -r '.items[0].id')
# A week from now, at nine.
day=$(jq -nr 'now + 7 * 86400 | strftime("%Y-%m-%d")')
series=$(
  call POST "$events" -d '{
    "calendarId": "'"$calendar"'",
    "subject": "Stand-up",
    "start": {"dateTime": "'"$day"'T09:00:00", "timeZone": "Europe/Berlin"},
    "end": {"dateTime": "'"$day"'T09:15:00", "timeZone": "Europe/Berlin"},
    "recurrence": ["RRULE:FREQ=WEEKLY;COUNT=4"]
  }' | jq -r .id
)

# Lists have the occurrences. An id names one of them, or the series.
end=$(jq -nr 'now + 40 * 86400 | todate')
occurrences=$(
  call GET "$events?start=${day}T00:00:00Z&end=$end&limit=200" | jq -c --arg series "$series" '[.items[] | select(.seriesId == $series)]'
)
echo "Stand-up, $(printf '%s' "$occurrences" | jq length) times"

second=$(printf '%s' "$occurrences" | jq -r '.[1].id')
later=$(jq -nr 'now + 14 * 86400 | strftime("%Y-%m-%d")')
kind=$(
  call PATCH "$events/$second" -d '{"start": {"dateTime": "'"$later"'T10:00:00", "timeZone": "Europe/Berlin"}}' |
    jq -r .kind
)
echo "The second one is at 10:00: $kind"

call DELETE "$events/$(printf '%s' "$occurrences" | jq -r '.[2].id')" >/dev/null
call GET "$events/$series" | jq -r 'if (.cancelledStarts | length) == 1 then "The third one is cancelled" else . end'

call DELETE "$events/$series" >/dev/null
echo 'The series is deleted'
