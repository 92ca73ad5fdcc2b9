-- Serves releases from 0050 on.
-- When the numbers of the messages of a source came under suspicion of having been given again; null if they are not.
alter table sync_cursor add column suspected_at timestamptz;

-- Outside a transaction:
create index concurrently sync_cursor_suspected on sync_cursor (account_id) where suspected_at is not null;
