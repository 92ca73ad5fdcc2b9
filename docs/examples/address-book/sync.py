import os
import requests

url = os.environ["WAXWING_URL"]
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}


def call(method, path, **given):
    answer = requests.request(method, f"{url}{path}", headers=headers, timeout=60, **given)
    answer.raise_for_status()
    return answer.json() if answer.content else None


# A copy of the address book. The position comes first, then the lists: what changes meanwhile is in the feed.
account = os.environ["ACCOUNT"]
cursor = call("GET", "/v1/changes", params={"start": "now"})["nextCursor"]
copy, after = {}, {}
while True:
    page = call("GET", f"/v1/accounts/{account}/contacts", params={"limit": 200, **after})
    copy.update({contact["id"]: contact for contact in page["items"]})
    if page["nextCursor"] is None:
        break
    after = {"cursor": page["nextCursor"]}
print(len(copy), "contacts")

types = ["contact.created", "contact.updated", "contact.deleted"]
while True:
    page = call("GET", "/v1/changes", params={"cursor": cursor, "types": types, "waitSeconds": 25})
    cursor = page["nextCursor"]
    for event in page["items"]:
        contact = event["data"].get("contact")
        if event["accountId"] != account or contact is None:
            continue
        if event["type"] == "contact.deleted":
            copy.pop(contact["id"], None)
            print("deleted")
        else:
            copy[contact["id"]] = contact
            parts = [part for part in (contact["displayName"], contact["jobTitle"]) if part]
            print(f"{event['type'].removeprefix('contact.')}: {', '.join(parts)}")
