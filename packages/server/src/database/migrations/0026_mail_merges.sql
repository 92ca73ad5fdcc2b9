-- The end of several contents, which is stored once: the files of a mail merge. There is no foreign key, which would be
-- checked with each message that is deleted.
alter table outbox_content add column tail_id uuid;
create index outbox_content_tail on outbox_content (tail_id) where tail_id is not null;

-- A mail merge that keeps a time between its hand-overs.
create table mail_merge_pace (
  id uuid primary key,
  account_id uuid not null references account,
  interval_seconds integer not null check (interval_seconds between 1 and 3600),
  -- never later than the first of its messages may be handed over; null where none waits
  due_at timestamptz
);
create index mail_merge_pace_due on mail_merge_pace (account_id, due_at) where due_at is not null;

-- whether it belongs to a merge that keeps a time between its hand-overs
alter table outbox add column is_paced boolean not null default false;

-- Single messages are found before those of merges, however many of these wait.
drop index outbox_due;
create index outbox_due on outbox (account_id, due_at, id) where due_at is not null and mail_merge_id is null;
create index outbox_merge_due on outbox (account_id, due_at, id)
  where due_at is not null and mail_merge_id is not null and not is_paced;
create index outbox_merge on outbox (mail_merge_id, due_at, id) where mail_merge_id is not null;
