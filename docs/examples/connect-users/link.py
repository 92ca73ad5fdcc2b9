import os
import time
import requests

url = os.environ["WAXWING_URL"]
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}


def call(method, path, **given):
    answer = requests.request(method, f"{url}{path}", headers=headers, timeout=60, **given)
    answer.raise_for_status()
    return answer.json() if answer.content else None


# The addresses to which users may return. They are compared character by character.
call("PATCH", "/v1/settings", json={"redirectUris": ["http://127.0.0.1:3000/connected"]})

# One link for each user who connects a mailbox. `state` is compared with the session of your own user at the return.
link = {
    "redirectUri": "http://127.0.0.1:3000/connected",
    "externalRef": f"user-{time.time_ns()}",
    "state": "session-of-nora",
    "providers": ["google"],
}
session = call("POST", "/v1/connect-sessions", json=link)
print(f"export SESSION={session['id']}")
print(f"export LINK={session['url']}")
