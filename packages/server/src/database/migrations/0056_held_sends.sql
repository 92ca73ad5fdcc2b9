-- Serves releases from 0050 on.
-- Since when a send is held back after a restore of the database, which may have forgotten that it was sent. Set until it is
-- found among sent mail or released.
alter table outbox add column held_since timestamptz;

-- `sync_state` of the best standby when a process last looked (pg_stat_replication); null since the last restore.
alter table feed_epoch add column standby text;
-- How the epoch began. It is true of the current epoch only if `noticed_epoch` names that: earlier releases do not write it.
alter table feed_epoch add column noticed_epoch text;
alter table feed_epoch add column noticed_at timestamptz;
-- Earlier epochs since which no commit was lost.
alter table feed_epoch add column continues text[] not null default '{}';

-- Outside a transaction:
create index concurrently outbox_held on outbox (tenant_id, account_id) where held_since is not null;
