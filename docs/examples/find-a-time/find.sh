call() {
  method=$1 path=$2
  shift 2
  curl -sSf -X "$method" "$WAXWING_URL$path" \
    -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' "$@"
}

# Three quarters of an hour in which Ada (ACCOUNT) and Ben (BEN) are free, between nine and five.
ada=/v1/accounts/$ACCOUNT
hours='[{"start": "09:00", "end": "17:00"}]'
question=$(
  jq -n --arg ada "$ACCOUNT" --arg ben "$BEN" --argjson hours "$hours" '{
    accountIds: [$ada, $ben], mode: "all",
    start: (now + 86400 | todate), end: (now + 8 * 86400 | todate),
    durationMinutes: 45, stepMinutes: 15, timeZone: "Europe/Berlin",
    hours: {mon: $hours, tue: $hours, wed: $hours, thu: $hours, fri: $hours}
  }'
)
slot=$(call POST /v1/availability/find -d "$question" | jq -c '.slots[0]')
printf '%s' "$slot" | jq -r '"Both are free at \(.start)"'

calendar=$(call GET "$ada/calendars" | jq -r '.items[0].id')
booked=$(
  printf '%s' "$slot" | jq --arg calendar "$calendar" '{
    calendarId: $calendar, subject: "Figures of June", start: {dateTime: .start}, end: {dateTime: .end}
  }' | call POST "$ada/calendar-events" -d @-
)
printf '%s' "$booked" | jq -r '"Booked: \(.subject)"'

# `explain` says why a slot is not offered.
printf '%s' "$question" | jq '.explain = true' | call POST /v1/availability/find -d @- |
  jq -r --argjson slot "$slot" '
    .explanation.refused[] | select(.start == $slot.start) | "Now it is refused: \(.reasons[0].code)"'
call DELETE "$ada/calendar-events/$(printf '%s' "$booked" | jq -r .id)" >/dev/null
