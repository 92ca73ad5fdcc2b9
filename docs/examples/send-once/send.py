import os
import requests

account = f"{os.environ['WAXWING_URL']}/v1/accounts/{os.environ['ACCOUNT']}"
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}

# The key names what is to be done: the invoice of your own database. The same key sends once.
invoice = os.environ["INVOICE"]
key = f"invoice-{invoice}"
message = {
    "to": [{"address": "ben@gmail.test"}],
    "subject": f"Invoice {invoice}",
    "text": "Please find it attached.",
}


def send():
    answer = requests.post(
        f"{account}/outbox", headers={**headers, "Idempotency-Key": key}, json=message, timeout=60
    )
    answer.raise_for_status()
    return answer.json()["id"], "repeated" if "idempotent-replayed" in answer.headers else "new"


first, how = send()
print("first:", how)
# If the answer is lost, nobody knows whether the message was sent. So the program asks again.
second, how = send()
print("second:", how)
print("the same message:", str(first == second).lower())
entry = requests.get(f"{account}/outbox/{first}", headers=headers, params={"waitSeconds": 30}, timeout=60).json()
print(f"{entry['subject']}: {entry['status']}")
