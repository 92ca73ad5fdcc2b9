import os
import requests

url = os.environ["WAXWING_URL"]
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}


def call(method, path, **given):
    answer = requests.request(method, f"{url}{path}", headers=headers, timeout=60, **given)
    answer.raise_for_status()
    return answer.json() if answer.content else None


call("PATCH", "/v1/settings", json={"redirectUris": ["http://127.0.0.1:3000/connected"]})
link = {
    "redirectUri": "http://127.0.0.1:3000/connected",
    "state": "session-of-nora",
    "providers": ["microsoft"],
    "oauthAppIds": {"microsoft": os.environ["APP"]},
}
session = call("POST", "/v1/connect-sessions", json=link)
print(f"export SESSION={session['id']}")
print(f"export LINK={session['url']}")
