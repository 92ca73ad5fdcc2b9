-- Copies of sends in the mailbox are known by their Message-ID, also after the entry of the outbox is gone.
create table sent_message (
  account_id uuid not null references account,
  -- with angle brackets; compared by bytes
  internet_message_id text collate "C" not null,
  outbox_id uuid not null,
  reference text,
  primary key (account_id, internet_message_id)
);
create index message_outbox on message (outbox_id) where outbox_id is not null;

-- A message that is sent through the interface, until 30 days after its end.
create table outbox (
  id uuid primary key,
  tenant_id uuid not null,
  account_id uuid not null,
  status text not null default 'queued' check (status in ('queued', 'sending', 'sent', 'failed', 'cancelled')),
  "from" jsonb not null,
  "to" jsonb not null,
  cc jsonb not null,
  bcc jsonb not null,
  reply_to jsonb not null,
  subject text,
  snippet text not null,
  has_attachments boolean not null,
  size bigint not null,
  importance text check (importance in ('high', 'normal', 'low')),
  in_reply_to uuid,
  forward_of uuid,
  draft_id uuid,
  reference text,
  thread_id text,
  internet_message_id text not null,
  -- addresses of the envelope that are still to be tried
  waiting text[] not null,
  -- [{address, status, message}] of those that were refused for good
  rejected jsonb not null default '[]',
  send_at timestamptz not null,
  -- the next attempt; null where there is none, or while one is made
  due_at timestamptz,
  attempts integer not null default 0,
  error_reason text,
  error_message text,
  -- the Date of the message: when its first attempt began
  dated_at timestamptz,
  -- an attempt: before its hand-over, after it, or with an outcome that was lost
  phase text check (phase in ('pre', 'handed_over', 'unknown')),
  claim uuid,
  claimed_by uuid references instance on delete set null,
  handed_over_at timestamptz,
  trace text,
  -- what else is to be done: find out what became of the hand-over, file the sent copy, mark the original
  task text check (task in ('look_up', 'file_copy', 'mark_original')),
  task_at timestamptz,
  task_tries integer not null default 0,
  task_by uuid references instance on delete set null,
  -- searches that did not find the copy, and when ours was about to be filed
  copy_searches integer not null default 0,
  copy_filed_at timestamptz,
  -- {source, key} of the copy that we filed; the server may still file one by itself
  filed_copy jsonb,
  sent_at timestamptz,
  ended_at timestamptz,
  -- the precision of cursors
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  foreign key (tenant_id, account_id) references account (tenant_id, id)
);
create index outbox_list on outbox (account_id, created_at desc, id desc);
create index outbox_due on outbox (account_id, due_at) where due_at is not null;
create index outbox_waiting on outbox (send_at) where due_at is not null;
create index outbox_claimed on outbox (account_id) where phase is not null;
create index outbox_task on outbox (task_at) where task is not null;
create index outbox_task_account on outbox (account_id, task_at) where task is not null;
-- a process that ends leaves its claims
create index outbox_claimed_by on outbox (claimed_by) where claimed_by is not null;
create index outbox_task_by on outbox (task_by) where task_by is not null;
create index outbox_filed on outbox (copy_filed_at) where filed_copy is not null;
create index outbox_ended on outbox (ended_at) where ended_at is not null;
create index outbox_unknown on outbox (ended_at) where status = 'failed' and error_reason = 'outcome_unknown';

-- The composed message, sealed. Deleted as soon as nothing needs it any more.
create table outbox_content (
  id uuid primary key,
  account_id uuid not null references account,
  -- null until the send is accepted
  outbox_id uuid references outbox on delete cascade,
  -- which bytes are the Date, and which belong to one form of the message only
  layout jsonb not null,
  -- of the content as it was composed
  bytes bigint not null,
  created_at timestamptz not null default clock_timestamp()
);
create unique index outbox_content_outbox on outbox_content (outbox_id) where outbox_id is not null;
create index outbox_content_account on outbox_content (account_id);
create index outbox_content_unused on outbox_content (created_at) where outbox_id is null;

create table outbox_piece (
  content_id uuid not null references outbox_content on delete cascade,
  number integer not null,
  sealed bytea not null,
  primary key (content_id, number)
);
-- It is compressed already.
alter table outbox_piece alter column sealed set storage external;

-- Where the sends of an account stand.
create table sending_account (
  account_id uuid primary key references account,
  tenant_id uuid not null references tenant,
  -- never later than the first attempt that is due
  due_at timestamptz,
  paused_until timestamptz,
  -- pauses in a row, and when the first of them began
  pauses integer not null default 0,
  troubled_since timestamptz,
  pause_reason text,
  pause_message text,
  served_at timestamptz not null default '-infinity',
  -- whether the server was seen to file sent mail by itself
  files_copies boolean not null default false,
  -- the largest message that the server takes, as it said last; null where it does not say
  message_bytes_max bigint
);
create index sending_account_due on sending_account (due_at) where due_at is not null;

-- The history of the database that the outbox belongs to. Where it differs from that of the feed, the database was
-- restored, and what was due may have been sent since the backup.
create table sending_epoch (
  is_only boolean primary key default true check (is_only),
  epoch text not null
);
insert into sending_epoch (epoch) select epoch from feed_epoch;

-- Sends that were queued on a day in UTC, of tenants whose plan limits them.
create table tenant_sends (
  tenant_id uuid not null references tenant,
  day date not null,
  count integer not null,
  primary key (tenant_id, day)
) with (fillfactor = 50);

alter table plan add column sends_per_day integer check (sends_per_day >= 0);
-- Since when a payment is overdue: new sends and accounts are refused.
alter table tenant add column past_due_at timestamptz;
