import os
import requests

url = os.environ["WAXWING_URL"]
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}


def call(method, path, **given):
    answer = requests.request(method, f"{url}{path}", headers=headers, timeout=60, **given)
    answer.raise_for_status()
    return answer.json() if answer.content else None


contacts = f"/v1/accounts/{os.environ['ACCOUNT']}/contacts"
grace = {
    "displayName": "Grace Hopper",
    "emails": [{"address": "grace@example.org", "type": "work"}],
}
contact = f"{contacts}/{call('POST', contacts, json=grace)['id']}"
changed = call("PATCH", contact, json={"jobTitle": "Rear Admiral"})
print(changed["displayName"], "has the address", changed["emails"][0]["address"])
call("DELETE", contact)
