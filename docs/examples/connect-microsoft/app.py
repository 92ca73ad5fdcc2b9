import os
import requests

url = os.environ["WAXWING_URL"]
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}


def call(method, path, **given):
    answer = requests.request(method, f"{url}{path}", headers=headers, timeout=60, **given)
    answer.raise_for_status()
    return answer.json() if answer.content else None


app = call(
    "POST",
    "/v1/oauth-apps",
    json={"provider": "microsoft", "name": "Mail", "clientId": "sandbox", "clientSecret": "sandbox-secret"},
)
print("Register", app["redirectUri"])
print(f"export APP={app['id']}")
