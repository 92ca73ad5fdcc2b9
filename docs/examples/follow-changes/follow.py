import os
import requests

feed = f"{os.environ['WAXWING_URL']}/v1/changes"
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}


def ask(query):
    answer = requests.get(feed, headers=headers, params=query, timeout=60)
    answer.raise_for_status()
    return answer.json()


# The file `cursor` has the position in the feed.
def save(cursor):
    # A crash amid writing must not leave half a cursor.
    with open("cursor.new", "w") as file:
        file.write(cursor)
    os.replace("cursor.new", "cursor")


if not os.path.exists("cursor"):
    save(ask({"start": "now"})["nextCursor"])
print("Following")
while True:
    with open("cursor") as file:
        query = {"cursor": file.read(), "types": "message.created", "waitSeconds": 25}
    page = ask(query)
    for event in page["items"]:
        message = event["data"].get("message")
        if message and message["direction"] == "inbound":
            # A message may have no sender.
            sender = (message["from"] or {}).get("address")
            print(f"{sender}: {message['subject']}")
    save(page["nextCursor"])
