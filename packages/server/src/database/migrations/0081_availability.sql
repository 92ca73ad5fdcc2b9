-- Serves releases from 0078 on: an index changes no answer.

-- Outside a transaction:
-- Finds the calendars of an account whose busy times are not all known.
create index concurrently calendar_event_truncated on calendar_event (account_id, calendar_id) where is_truncated;
