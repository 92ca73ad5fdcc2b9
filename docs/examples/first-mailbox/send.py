import os
import requests

account = f"{os.environ['WAXWING_URL']}/v1/accounts/{os.environ['ACCOUNT']}"
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}

# Ada writes to Ben, and waits until the message is sent.
message = {"to": [{"address": "ben@gmail.test"}], "subject": "First message", "text": "Hello, Ben."}
created = requests.post(f"{account}/outbox", headers=headers, json=message, timeout=60)
created.raise_for_status()
entry = requests.get(
    f"{account}/outbox/{created.json()['id']}", headers=headers, params={"waitSeconds": 30}, timeout=60
).json()
print(f"{entry['subject']}: {entry['status']}")
