import datetime, os, time
import requests

url = os.environ["WAXWING_URL"]
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}


def call(method, path, **given):
    answer = requests.request(method, f"{url}{path}", headers=headers, timeout=60, **given)
    answer.raise_for_status()
    return answer.json() if answer.content else None


# Ada invites Ben, who accepts.
ada = f"/v1/accounts/{os.environ['ACCOUNT']}"
ben = f"/v1/accounts/{os.environ['BEN']}"
day = datetime.datetime.now(datetime.timezone.utc).date() + datetime.timedelta(days=3)
event = call(
    "POST",
    f"{ada}/calendar-events",
    json={
        "calendarId": call("GET", f"{ada}/calendars")["items"][0]["id"],
        "subject": "Figures of May",
        "start": {"dateTime": f"{day}T15:00:00", "timeZone": "Europe/Berlin"},
        "end": {"dateTime": f"{day}T16:00:00", "timeZone": "Europe/Berlin"},
        "attendees": [{"address": "ben@gmail.test"}],
    },
)


def wait_for(account, is_wanted):
    while True:
        call("POST", f"{account}/sync", json={"kinds": ["calendar"]})
        time.sleep(1)
        query = {"start": f"{day}T00:00:00Z", "end": f"{day}T23:59:59Z", "limit": 200}
        for found in call("GET", f"{account}/calendar-events", params=query)["items"]:
            if found["iCalUid"] == event["iCalUid"] and is_wanted(found):
                return found


invitation = wait_for(ben, lambda found: True)
print("Ben is invited:", invitation["selfResponse"])
answer = f"{ben}/calendar-events/{invitation['id']}/respond"
print("Ben answers:", call("POST", answer, json={"response": "accepted"})["selfResponse"])
heard = wait_for(ada, lambda found: found["attendees"][0]["response"] == "accepted")
print("Ada reads:", heard["attendees"][0]["response"])
call("DELETE", f"{ada}/calendar-events/{event['id']}")
