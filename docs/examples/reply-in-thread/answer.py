import os
import requests

account = f"{os.environ['WAXWING_URL']}/v1/accounts/{os.environ['ACCOUNT']}"
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}
feed = f"{os.environ['WAXWING_URL']}/v1/changes"


def read(url, query=None):
    answer = requests.get(url, headers=headers, params=query, timeout=60)
    answer.raise_for_status()
    return answer.json()


# Answers the next message from Zoe, in its thread.
cursor = read(feed, {"start": "now"})["nextCursor"]
print("Waiting for a question")
question = None
while question is None:
    page = read(feed, {"cursor": cursor, "types": "message.created", "waitSeconds": 25})
    cursor = page["nextCursor"]
    messages = [event["data"]["message"] for event in page["items"]]
    # A message may have no sender.
    from_zoe = (each for each in messages if each["from"] and each["from"]["address"] == "zoe@example.com")
    question = next(from_zoe, None)
print(f"{question['from']['address']} asks: {question['subject']}")

answer = {"inReplyTo": question["id"], "to": [question["from"]], "text": "With pleasure."}
created = requests.post(f"{account}/outbox", headers=headers, json=answer, timeout=60)
created.raise_for_status()
entry = read(f"{account}/outbox/{created.json()['id']}", {"waitSeconds": 30})
print(f"{entry['subject']} is {entry['status']}")
