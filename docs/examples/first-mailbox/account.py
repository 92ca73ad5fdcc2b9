import os
import requests

url = os.environ["WAXWING_URL"]
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}

# The newest account, and its id for the programs to come.
answer = requests.get(f"{url}/v1/accounts", headers=headers, params={"limit": 1}, timeout=60)
answer.raise_for_status()
for account in answer.json()["items"]:
    print(account["email"], "is", account["status"])
    print(f"export ACCOUNT={account['id']}")
