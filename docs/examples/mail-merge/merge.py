import os
import requests

account = f"{os.environ['WAXWING_URL']}/v1/accounts/{os.environ['ACCOUNT']}"
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}

# Max has asked by phone to be left out.
left_out = {"addresses": ["max@example.org"], "reason": "Asked by phone"}
entries = f"{os.environ['WAXWING_URL']}/v1/suppressions/newsletter/entries"
requests.post(entries, headers=headers, json=left_out, timeout=60).raise_for_status()

merge = {
    "listId": "newsletter",
    "render": {
        "subject": "News for {{params.name}}",
        "html": "<p>Dear {{params.name}}, there is news.</p>"
        '<p><a href="{{rcpt.unsubscribeUrl}}">Unsubscribe</a></p>',
    },
    "entries": [
        {"to": {"address": "ben@gmail.test"}, "params": {"name": "Ben"}},
        {"to": {"address": "max@example.org"}, "params": {"name": "Max"}},
    ],
}
answer = requests.post(f"{account}/mail-merges", headers=headers, json=merge, timeout=60)
answer.raise_for_status()
items = answer.json()["items"]
for item in items:
    print(f"{item['address']}: {item['error']['reason'] if item['error'] else 'queued'}")
for item in items:
    if item["outboxId"]:
        entry = requests.get(
            f"{account}/outbox/{item['outboxId']}", headers=headers, params={"waitSeconds": 30}, timeout=60
        ).json()
        print(f"{entry['subject']}: {entry['status']}")
