"""Expands recurrence rules by dateutil. Each line of the input is JSON: rule, start, from, to. Each answer is a JSON list."""
import datetime
import itertools
import json
import sys

from dateutil.rrule import rrulestr

FORM = "%Y%m%dT%H%M%S"


def expand(rule, start, begin, end):
    # A rule that gives nothing is followed up to this year.
    datetime.MAXYEAR = int(end[:4])
    first = datetime.datetime.strptime(start, FORM)
    try:
        found = rrulestr(rule, dtstart=first)
        members = list(itertools.takewhile(lambda member: member.strftime(FORM) < end, found))
    except ValueError as error:
        # The interval never meets the hours, minutes or seconds of the rule.
        if "empty" not in str(error):
            raise
        members = []
    # DTSTART is the first member, also if the rule lacks it, and is counted (RFC 5545 section 3.8.5.3).
    if not members or members[0] != first:
        count = next((int(part[6:]) for part in rule.split(";") if part.startswith("COUNT=")), None)
        members = [first, *(members if count is None else members[: count - 1])]
    walls = (member.strftime(FORM) for member in members)
    return [wall for wall in walls if begin <= wall < end]


for line in sys.stdin:
    given = json.loads(line)
    print(json.dumps(expand(given["rule"], given["start"], given["from"], given["to"])))
