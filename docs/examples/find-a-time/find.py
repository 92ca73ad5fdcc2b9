import datetime, os
import requests

url = os.environ["WAXWING_URL"]
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}


def call(method, path, **given):
    answer = requests.request(method, f"{url}{path}", headers=headers, timeout=60, **given)
    answer.raise_for_status()
    return answer.json() if answer.content else None


# Three quarters of an hour in which Ada and Ben are free, between nine and five.
ada = f"/v1/accounts/{os.environ['ACCOUNT']}"
now = datetime.datetime.now(datetime.timezone.utc)
opened = [{"start": "09:00", "end": "17:00"}]
question = {
    "accountIds": [os.environ["ACCOUNT"], os.environ["BEN"]],
    "mode": "all",
    "start": (now + datetime.timedelta(days=1)).isoformat(timespec="seconds"),
    "end": (now + datetime.timedelta(days=8)).isoformat(timespec="seconds"),
    "durationMinutes": 45,
    "stepMinutes": 15,
    "timeZone": "Europe/Berlin",
    "hours": {day: opened for day in ("mon", "tue", "wed", "thu", "fri")},
}
slot = call("POST", "/v1/availability/find", json=question)["slots"][0]
print("Both are free at", slot["start"])

event = {
    "calendarId": call("GET", f"{ada}/calendars")["items"][0]["id"],
    "subject": "Figures of June",
    "start": {"dateTime": slot["start"]},
    "end": {"dateTime": slot["end"]},
}
booked = call("POST", f"{ada}/calendar-events", json=event)
print("Booked:", booked["subject"])

# `explain` says why a slot is not offered.
found = call("POST", "/v1/availability/find", json={**question, "explain": True})
refused = next(each for each in found["explanation"]["refused"] if each["start"] == slot["start"])
print("Now it is refused:", refused["reasons"][0]["code"])
call("DELETE", f"{ada}/calendar-events/{booked['id']}")
