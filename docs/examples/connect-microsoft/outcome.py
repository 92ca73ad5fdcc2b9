import os
import requests

url = os.environ["WAXWING_URL"]
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}


def call(method, path, **given):
    answer = requests.request(method, f"{url}{path}", headers=headers, timeout=60, **given)
    answer.raise_for_status()
    return answer.json() if answer.content else None


# A return is only a message from a browser, so the service is asked.
session = call("GET", f"/v1/connect-sessions/{os.environ['SESSION']}")
print(session["status"])
if session["accountId"]:
    account = call("GET", f"/v1/accounts/{session['accountId']}")
    print(account["email"], "is", account["status"])
