import os
import requests

url = os.environ["WAXWING_URL"]
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}


def call(method, path, **given):
    answer = requests.request(method, f"{url}{path}", headers=headers, timeout=60, **given)
    answer.raise_for_status()
    return answer.json() if answer.content else None


# For a monitor: whether requests are served, and what waits for a person.
print("ready:", requests.get(f"{url}/health/ready", timeout=60).status_code)
print("sends today:", call("GET", "/v1/usage")["current"]["sendsToday"])
accounts = call("GET", "/v1/accounts", params={"status": "reauth_required"})["items"]
print("accounts that need their user:", len(accounts))
integrity = call("GET", f"/v1/accounts/{os.environ['ACCOUNT']}/integrity")
print("messages that the index lacks:", integrity["missing"])
endpoints = call("GET", "/v1/webhooks")["items"]
print("endpoints that fail:", len([each for each in endpoints if not each["isEnabled"]]))
