import os
import requests

account = f"{os.environ['WAXWING_URL']}/v1/accounts/{os.environ['ACCOUNT']}"
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}

# The best match of this word, in subject, names, addresses or text.
query = {"q": "お知らせ -lunch", "from": "dora", "limit": 1}
answer = requests.get(f"{account}/search/messages", headers=headers, params=query, timeout=60)
answer.raise_for_status()
page = answer.json()
print(f"{page['source']} is the source")
for message in page["items"]:
    print(f"{message['receivedAt'][:10]} {message['subject']}")
