-- Serves releases from 0078 on: an index changes no answer.

-- Outside a transaction:
-- Lists what takes place in one calendar of an account, however much takes place in its others. It finds the spans of a
-- calendar as well.
create index concurrently calendar_span_by_calendar on calendar_span (calendar_id, start_at, id);
drop index concurrently if exists calendar_span_calendar;
