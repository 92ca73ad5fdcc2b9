import os
import requests

account = f"{os.environ['WAXWING_URL']}/v1/accounts/{os.environ['ACCOUNT']}"
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}

# The three newest messages from Dora.
query = {"from": "dora", "limit": 3}
answer = requests.get(f"{account}/messages", headers=headers, params=query, timeout=60)
answer.raise_for_status()
for message in answer.json()["items"]:
    # A message may have no sender.
    sender = (message["from"] or {}).get("address")
    print(f"{message['receivedAt'][:10]} {sender}: {message['subject']}")
