"""Reads messages with Python's email package, to compare: one JSON line in (base64), one out."""
import base64, email, email.header, email.policy, email.utils, inspect, json, sys


def walk(part, prefix, found):
    if part.is_multipart() and part.get_content_maintype() == "multipart":
        for index, child in enumerate(part.get_payload(), 1):
            number = f"{prefix}.{index}" if prefix else str(index)
            walk(child, number, found)
        return
    kind = part.get_content_type()
    content = None if kind == "message/rfc822" else part.get_payload(decode=True)
    text = None
    if kind in ("text/plain", "text/html"):
        try:
            text = content.decode(part.get_content_charset() or "ascii")
        except (LookupError, UnicodeError):
            pass
    found.append({
        "text": text,
        "id": prefix or "1",
        "type": kind,
        "filename": name_of(part),
        "disposition": part.get_content_disposition(),
        "contentId": part.get("content-id"),
        "content": base64.b64encode(content).decode() if content is not None else None,
    })


def name_of(part):
    try:
        return part.get_filename()
    except (LookupError, UnicodeError):
        return None


def decode(value):
    if value is None:
        return None
    try:
        return str(email.header.make_header(email.header.decode_header(value)))
    except (LookupError, UnicodeError, email.errors.HeaderParseError):
        return False


# Newer Pythons give up a field with anything odd in it, unless they are asked not to.
PARAMETERS = inspect.signature(email.utils.getaddresses).parameters
LENIENT = {"strict": False} if "strict" in PARAMETERS else {}


def addresses(message, field):
    try:
        pairs = email.utils.getaddresses([str(value) for value in message.get_all(field, [])], **LENIENT)
    except Exception:
        return None
    return [[decode(name), address] for name, address in pairs]


def date_of(message):
    try:
        return email.utils.parsedate_to_datetime(message["date"]).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def unfold(value):
    return None if value is None else str(value).replace("\r", "").replace("\n", "")


for line in sys.stdin:
    message = email.message_from_bytes(base64.b64decode(line), policy=email.policy.compat32)
    found = []
    walk(message, "", found)
    print(json.dumps({
        "parts": found,
        "subject": decode(unfold(message["subject"])),
        "from": addresses(message, "from"),
        "to": addresses(message, "to"),
        "cc": addresses(message, "cc"),
        "bcc": addresses(message, "bcc"),
        "replyTo": addresses(message, "reply-to"),
        "fields": [[name, decode(unfold(value))] for name, value in message.items()],
        "date": date_of(message),
    }), flush=True)
