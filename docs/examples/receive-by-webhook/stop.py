import os
import requests

url = os.environ["WAXWING_URL"]
headers = {"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"}

endpoint = f"{url}/v1/webhooks/{os.environ['ENDPOINT']}"
requests.delete(endpoint, headers=headers, timeout=60).raise_for_status()
print("No more webhooks")
