-- Values that the whole installation shares, sealed under the key ring: the pepper of credential digests and the key
-- that authenticates cursors. That they open shows that the key ring is the right one.
create table sealed_value (
  name text primary key,
  sealed bytea not null
);

create table tenant (
  id uuid primary key,
  name text not null unique,
  settings jsonb not null,
  suspended_at timestamptz,
  created_at timestamptz not null default now()
);

create table api_key (
  id uuid primary key,
  tenant_id uuid not null references tenant,
  name text not null,
  scopes text[] not null,
  -- null: every account of the tenant
  account_ids uuid[],
  digest bytea not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default now()
);
create index api_key_tenant on api_key (tenant_id, created_at);

-- A running process of the service. It owns accounts only while its heartbeat lies in the future (database clock).
create table instance (
  id uuid primary key,
  heartbeat_until timestamptz not null,
  started_at timestamptz not null default now()
);

create table account (
  id uuid primary key,
  tenant_id uuid not null references tenant,
  provider text not null check (provider in ('gmail', 'graph', 'imap')),
  email text not null,
  display_name text,
  external_ref text,
  oauth_app_id uuid,
  cloud text,
  status text not null default 'active' check (status in ('active', 'paused', 'reauth_required', 'disabled')),
  status_reason text,
  -- only what the account overrides of its tenant's settings
  settings_override jsonb not null default '{}',
  auth_method text not null check (auth_method in ('oauth', 'password', 'org_connection', 'delegate')),
  -- servers of an IMAP account, without secrets
  imap jsonb,
  -- the account's data key, wrapped by the key ring; destroyed by the purge
  data_key bytea,
  initialized_at timestamptz,
  calendar_initialized_at timestamptz,
  contacts_initialized_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  purge_after timestamptz,
  purged_at timestamptz,
  -- ownership: every sync transaction checks (owner_instance, owner_epoch)
  owner_instance uuid,
  owner_epoch bigint not null default 0,
  -- kinds of passes asked for, and 'restart' when settings or servers changed
  sync_wanted text[] not null default '{}',
  -- how often a sync was asked for since the beginning of the current window
  wake_window_at timestamptz,
  wake_count integer not null default 0,
  -- the last report of an owning instance
  runtime_state text,
  runtime_detail text,
  runtime_instance uuid,
  runtime_updated_at timestamptz,
  unique (tenant_id, id)
);
create index account_list on account (tenant_id, created_at desc, id desc) where deleted_at is null;
-- one live account a mailbox
create unique index account_email on account (tenant_id, lower(email)) where deleted_at is null;
create index account_external_ref on account (tenant_id, external_ref) where deleted_at is null;
create index account_owner on account (owner_instance) where deleted_at is null;
create index account_purge on account (purge_after) where deleted_at is not null and purged_at is null;

create table account_token (
  id uuid primary key,
  tenant_id uuid not null,
  account_id uuid not null,
  scopes text[] not null,
  digest bytea not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  foreign key (tenant_id, account_id) references account (tenant_id, id)
);
create index account_token_account on account_token (account_id);

-- Secrets of an account, each sealed with the account's data key.
create table account_secret (
  account_id uuid not null references account,
  name text not null,
  sealed bytea not null,
  updated_at timestamptz not null default now(),
  primary key (account_id, name)
);

create table mailbox (
  id uuid primary key,
  tenant_id uuid not null,
  account_id uuid not null,
  -- what the provider calls it: the path on an IMAP server, the id of a label or folder elsewhere
  provider_key text not null,
  -- an id that outlives a rename, where the provider has one (RFC 8474 MAILBOXID)
  provider_id text,
  name text not null,
  path text not null,
  parent_id uuid references mailbox on delete set null,
  role text not null,
  kind text not null check (kind in ('folder', 'label')),
  total_count integer,
  unread_count integer,
  -- which source of the provider it is followed by; null where it cannot be opened
  source text,
  created_at timestamptz not null default now(),
  unique (account_id, provider_key),
  foreign key (tenant_id, account_id) references account (tenant_id, id)
);
create index mailbox_parent on mailbox (parent_id);

create table message (
  id uuid primary key,
  tenant_id uuid not null,
  account_id uuid not null,
  thread_id text,
  internet_message_id text,
  -- 128 bits that are equal for copies of one message: joins a message that moved or whose mailbox was renumbered
  identity uuid not null,
  mailbox_ids uuid[] not null,
  subject text,
  "from" jsonb,
  "to" jsonb not null,
  cc jsonb not null,
  bcc jsonb not null,
  reply_to jsonb not null,
  -- lower-cased names and addresses, one a line, for the filters from and to
  sender_text text not null,
  recipients_text text not null,
  snippet text not null,
  -- whole milliseconds, as cursors of lists hold them
  received_at timestamptz(3) not null,
  sent_at timestamptz,
  is_read boolean not null,
  is_flagged boolean not null,
  is_draft boolean not null,
  has_attachments boolean not null,
  categories text[] not null,
  direction text not null check (direction in ('inbound', 'outbound')),
  outbox_id uuid,
  reference text,
  importance text check (importance in ('high', 'normal', 'low')),
  size bigint not null,
  -- set while the provider no longer has it where it was: a pass finds it again or deletes it. 'infinity' while its
  -- mailbox is read anew after a renumbering
  missing_since timestamptz,
  foreign key (tenant_id, account_id) references account (tenant_id, id)
);
create index message_list on message (account_id, received_at desc, id desc);
create index message_thread on message (account_id, thread_id, received_at desc, id desc);
create index message_identity on message (account_id, identity);
create index message_missing on message (account_id) where missing_since is not null;

-- Which mailboxes a message is in, in the order of a mailbox's listing. Only recordMessages writes it.
create table message_mailbox (
  mailbox_id uuid not null references mailbox on delete cascade,
  received_at timestamptz(3) not null,
  message_id uuid not null references message on delete cascade,
  -- RFC 9051 UID, valid under the UIDVALIDITY in the cursor of the mailbox's source; null elsewhere, and while the message is missing
  uid bigint,
  primary key (mailbox_id, received_at, message_id)
);
create unique index message_mailbox_uid on message_mailbox (mailbox_id, uid) where uid is not null;
create index message_mailbox_message on message_mailbox (message_id);

-- Where the sync of a source stands, in the words of its adapter. A source is what the provider lets us follow with one
-- cursor: a folder on IMAP and Graph, the whole history on Gmail.
create table sync_cursor (
  account_id uuid not null references account,
  source text not null,
  cursor jsonb not null,
  primary key (account_id, source)
);

-- Which thread a Message-ID belongs to, whether the message is indexed or only referred to.
create table thread_link (
  account_id uuid not null references account,
  reference uuid not null,
  thread_id uuid not null,
  primary key (account_id, reference)
);
create index thread_link_thread on thread_link (account_id, thread_id);

-- Messages that could not be fetched or read. They are tried again; the pass goes on without them.
create table quarantined_message (
  account_id uuid not null references account,
  mailbox_id uuid not null references mailbox on delete cascade,
  -- forgotten when the mailbox is renumbered
  uid bigint not null,
  reason text not null,
  attempts integer not null,
  parser_version integer not null,
  first_failed_at timestamptz not null default now(),
  next_attempt_at timestamptz not null,
  primary key (mailbox_id, uid)
);
create index quarantined_message_account on quarantined_message (account_id);

-- The change feed. Ids are taken under the tenant's lock, last before commit, so that no reader ever sees a later
-- id before an earlier one. CACHE 1: a larger cache would hand blocks of ids to sessions and break the order.
create sequence event_id as bigint cache 1;
create table event (
  tenant_id uuid not null references tenant,
  id bigint not null,
  account_id uuid,
  type text not null,
  data json not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, id)
);
create index event_created on event (created_at);
