import os
import requests

url = os.environ["WAXWING_URL"]
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}

# Events of new mail are posted to this machine. The secret is shown only now.
endpoint = {
    "url": f"http://127.0.0.1:{os.environ['PORT']}/waxwing",
    "filters": {"eventTypes": ["message.created"], "accountIds": [os.environ["ACCOUNT"]]},
}
answer = requests.post(f"{url}/v1/webhooks", headers=headers, json=endpoint, timeout=60)
answer.raise_for_status()
print(f"export ENDPOINT={answer.json()['endpoint']['id']}")
print(f"export WEBHOOK_SECRET={answer.json()['secret']}")
