-- Stored sources of messages: files of the blob store, by the id of their row. A row without a message is a file that is
-- being written, or whose message is gone; a sweep removes both.
create table message_blob (
  id uuid primary key,
  tenant_id uuid not null,
  account_id uuid not null,
  message_id uuid references message on delete set null,
  -- what the file takes on the disk
  bytes bigint not null default 0,
  created_at timestamptz not null default now(),
  foreign key (tenant_id, account_id) references account (tenant_id, id)
);
create unique index message_blob_message on message_blob (message_id) where message_id is not null;
create index message_blob_account on message_blob (account_id);
create index message_blob_unused on message_blob (created_at) where message_id is null;
