import datetime, os
import requests

url = os.environ["WAXWING_URL"]
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}


def call(method, path, **given):
    answer = requests.request(method, f"{url}{path}", headers=headers, timeout=60, **given)
    answer.raise_for_status()
    return answer.json() if answer.content else None


account = f"/v1/accounts/{os.environ['ACCOUNT']}"
calendar = call("GET", f"{account}/calendars")["items"][0]["id"]
today = datetime.datetime.now(datetime.timezone.utc).date()


def berlin(days, clock):
    day = today + datetime.timedelta(days=days)
    return {"dateTime": f"{day}T{clock}:00", "timeZone": "Europe/Berlin"}


# A week from now, at nine.
event = {
    "calendarId": calendar,
    "subject": "Stand-up",
    "start": berlin(7, "09:00"),
    "end": berlin(7, "09:15"),
    "recurrence": ["RRULE:FREQ=WEEKLY;COUNT=4"],
}
series = call("POST", f"{account}/calendar-events", json=event)["id"]

# Lists have the occurrences. An id names one of them, or the series.
start, end = today + datetime.timedelta(days=7), today + datetime.timedelta(days=40)
query = {"start": f"{start}T00:00:00Z", "end": f"{end}T00:00:00Z", "limit": 200}
events = call("GET", f"{account}/calendar-events", params=query)["items"]
occurrences = [event["id"] for event in events if event["seriesId"] == series]
print(f"Stand-up, {len(occurrences)} times")

moved = {"start": berlin(14, "10:00")}
kind = call("PATCH", f"{account}/calendar-events/{occurrences[1]}", json=moved)["kind"]
print(f"The second one is at 10:00: {kind}")

call("DELETE", f"{account}/calendar-events/{occurrences[2]}")
if len(call("GET", f"{account}/calendar-events/{series}")["cancelledStarts"]) == 1:
    print("The third one is cancelled")

call("DELETE", f"{account}/calendar-events/{series}")
print("The series is deleted")
