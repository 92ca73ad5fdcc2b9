"""Reads messages with Python's email package, to compare: one JSON line in (base64), one out."""
import base64, email, email.policy, json, sys


def walk(part, prefix, found):
    if part.is_multipart() and part.get_content_maintype() == "multipart":
        for index, child in enumerate(part.get_payload(), 1):
            number = f"{prefix}.{index}" if prefix else str(index)
            walk(child, number, found)
        return
    kind = part.get_content_type()
    if kind == "message/rfc822":
        content = None
    else:
        content = part.get_payload(decode=True)
    text = None
    if kind in ("text/plain", "text/html"):
        try:
            text = content.decode(part.get_content_charset() or "ascii")
        except (LookupError, UnicodeDecodeError):
            pass
    found.append({
        "text": text,
        "id": prefix or "1",
        "type": kind,
        "filename": part.get_filename(),
        "content": base64.b64encode(content).decode() if content is not None else None,
    })


for line in sys.stdin:
    message = email.message_from_bytes(base64.b64decode(line), policy=email.policy.compat32)
    found = []
    walk(message, "", found)
    print(json.dumps(found), flush=True)
