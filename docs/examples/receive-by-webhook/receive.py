import base64, hashlib, hmac, json, os, re, time
from http.server import BaseHTTPRequestHandler, HTTPServer

key = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
# A program that is more than an example keeps the ids in its database, with the work that they cause.
handled = set()
BODY_BYTES_MAX = 10_000_000


def is_genuine(body, headers):
    event_id = headers.get("webhook-id") or ""
    timestamp = headers.get("webhook-timestamp") or ""
    signatures = headers.get("webhook-signature") or ""
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > 300:
        return False
    signed = f"{event_id}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    return any(hmac.compare_digest(expected, given.encode()) for given in signatures.split(" "))


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        # Anyone can send a body, so its size is checked before it is read.
        length = int(self.headers.get("content-length") or 0)
        is_small = 0 <= length <= BODY_BYTES_MAX
        body = self.rfile.read(length) if is_small else b""
        if not is_small:
            self.send_response(413)
        elif not is_genuine(body, self.headers):
            self.send_response(401)
        else:
            self.send_response(204)
            event = json.loads(body)
            if event["type"] == "message.created" and event["id"] not in handled:
                handled.add(event["id"])
                message = event["data"]["message"]
                # A message may have no sender.
                sender = (message["from"] or {}).get("address")
                print(f"{sender}: {message['subject']}")
        self.end_headers()

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver)
print("Waiting for mail")
server.serve_forever()
