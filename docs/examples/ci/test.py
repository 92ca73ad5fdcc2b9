import os
import time
import requests

url = os.environ["WAXWING_URL"]
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}
sandbox = os.environ["SANDBOX_URL"]


def call(method, path, **given):
    answer = requests.request(method, f"{url}{path}", headers=headers, timeout=60, **given)
    answer.raise_for_status()
    return answer.json() if answer.content else None


def ask(path, **given):
    answer = requests.post(f"{sandbox}{path}", timeout=60, **given)
    answer.raise_for_status()
    return answer.json()


# A mailbox of its own for each run, and a refresh token as if its user had consented.
user = f"test-{time.time_ns()}@gmail.test"
ask("/users", json={"email": user, "messages": 3})
scopes = ["openid", "email", "profile", "https://www.googleapis.com/auth/gmail.modify"]
grant = ask("/grants", json={"user": user, "clientId": "sandbox", "scopes": scopes})
connected = {"provider": "google", "refreshToken": grant["refreshToken"]}
account = call("POST", "/v1/accounts", json=connected)["id"]
print(user, "is connected")

while call("GET", f"/v1/accounts/{account}")["initializedAt"] is None:
    time.sleep(0.5)
messages = call("GET", f"/v1/accounts/{account}/messages", params={"limit": 200})["items"]
print(len(messages), "messages are indexed")

cursor = call("GET", "/v1/changes", params={"start": "now"})["nextCursor"]
message = "From: Zoe <zoe@example.com>\r\nSubject: Hello\r\n\r\nHow are you?\r\n"
ask(f"/users/{user}/messages", data=message)
subjects = []
while not subjects:
    query = {"cursor": cursor, "types": "message.created", "waitSeconds": 25}
    page = call("GET", "/v1/changes", params=query)
    cursor = page["nextCursor"]
    events = [event for event in page["items"] if event["accountId"] == account]
    subjects = [event["data"]["message"]["subject"] for event in events]
print("The event reports:", subjects[0])

call("DELETE", f"/v1/accounts/{account}", params={"purge": "true"})
print("The account is deleted")
