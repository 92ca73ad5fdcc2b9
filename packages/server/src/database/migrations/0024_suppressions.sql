-- Addresses that a tenant's sends must not reach. The list with the id `global` is made with its first entry.
create table suppression_list (
  -- entries belong to the key: a list that is deleted and made anew under its id begins empty
  key uuid primary key,
  tenant_id uuid not null references tenant,
  id text collate "C" not null,
  name text not null,
  description text,
  -- entries by their source; whoever writes entries holds this row, and counts them here
  unsubscribe integer not null default 0,
  bounce integer not null default 0,
  api integer not null default 0,
  reply integer not null default 0,
  complaint integer not null default 0,
  inactive integer not null default 0,
  created_at timestamptz(3) not null default clock_timestamp(),
  -- its entries are deleted soon afterwards, then the row
  deleted_at timestamptz
);
create unique index suppression_list_id on suppression_list (tenant_id, id) where deleted_at is null;
create index suppression_list_deleted on suppression_list (deleted_at) where deleted_at is not null;

create table suppression_entry (
  list_key uuid not null references suppression_list,
  -- as addresses are compared: lower case, domain as A-labels
  address text collate "C" not null,
  id uuid not null,
  source text not null check (source in ('unsubscribe', 'bounce', 'api', 'reply', 'complaint', 'inactive')),
  reason text not null,
  -- the precision of cursors
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (list_key, address)
);
create index suppression_entry_list on suppression_entry (list_key, created_at desc, id desc);

-- A detected opt-out that waits for a person.
create table suppression_review (
  id uuid primary key,
  tenant_id uuid not null,
  -- the list may be missing: approving creates it
  list_id text collate "C" not null,
  address text collate "C" not null,
  source text not null check (source in ('reply', 'inactive')),
  account_id uuid not null,
  message_id uuid not null,
  outbox_id uuid,
  probability double precision not null,
  alternate_contacts text[] not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  foreign key (tenant_id, account_id) references account (tenant_id, id),
  unique (tenant_id, list_id, address)
);
create index suppression_review_list on suppression_review (tenant_id, created_at desc, id desc);
create index suppression_review_account on suppression_review (account_id);
