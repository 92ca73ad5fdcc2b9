"""Reads vCards with vobject, to compare: one base64 line in, one JSON line with the properties out."""
import base64, json, sys
import vobject


def text(value):
    return " ".join(value) if isinstance(value, (list, tuple)) else str(value)


def values_of(line):
    value = line.value
    if line.name == "N":
        return [text(part) for part in (value.family, value.given, value.additional, value.prefix, value.suffix)]
    if line.name == "ADR":
        return [text(part) for part in vars(value).values()]
    if isinstance(value, (list, tuple)):
        return [text(part) for part in value]
    if isinstance(value, bytes):
        return [base64.b64encode(value).decode()]
    return [str(value)]


def read(file, allow_qp):
    cards = list(vobject.readComponents(file, allowQP=allow_qp))
    return [[
        {
            "group": line.group,
            "name": line.name.upper(),
            "parameters": sorted([name.upper(), *values] for name, values in line.params.items())
            + [["", value] for value in line.singletonparams],
            "values": values_of(line),
        }
        for line in sorted(card.lines(), key=lambda line: line.lineNumber or 0)
    ] for card in cards]


for encoded in sys.stdin:
    try:
        file = base64.b64decode(encoded).decode("utf-8")
        cards = read(file, True)
        # Radicale reads cards with quoted-printable, others without.
        answer = cards[0] if len(cards) == 1 and read(file, False) == cards else "not one card"
    except Exception as error:
        answer = repr(error)
    print(json.dumps(answer))
