-- Serves releases from 0050 on.
-- What a process follows, as of its last heartbeat; null: it follows no accounts. An earlier release leaves all null.
alter table instance add column heartbeat_at timestamptz;
alter table instance add column accounts integer;
alter table instance add column weight double precision;
