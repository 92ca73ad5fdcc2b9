-- The last comparison of each mailbox with its listing at the provider.
create table mailbox_comparison (
  mailbox_id uuid primary key references mailbox (id) on delete cascade,
  account_id uuid not null,
  -- When it is compared next.
  due_at timestamptz not null,
  -- Null until the first comparison has ended.
  compared_at timestamptz,
  listed integer not null default 0,
  indexed integer not null default 0,
  missing integer not null default 0,
  extra integer not null default 0,
  changed integer not null default 0,
  repaired integer not null default 0,
  -- After how many hours it is compared again, since repairs do not help; 0 while they do.
  stuck_hours integer not null default 0,
  -- The provider contradicted itself, so nothing is known of the mailbox.
  is_doubtful boolean not null default false,
  foreign key (account_id) references account (id)
);
create index mailbox_comparison_account on mailbox_comparison (account_id);
create index mailbox_comparison_unproven on mailbox_comparison (account_id) where is_doubtful or compared_at is null;

alter table account
  -- Since when the index is known to differ from the provider; null while no difference is known.
  add column differs_since timestamptz,
  -- When the oldest of the comparisons ended by which the whole account was last found equal to its provider.
  add column verified_at timestamptz;

create index account_differs on account (differs_since)
  where differs_since is not null and status = 'active' and deleted_at is null;
create index account_verified on account (verified_at) where status = 'active' and deleted_at is null;

-- A purge that failed is tried again, and stops no other.
alter table account add column purge_failures integer not null default 0;
create index account_purge_failing on account (deleted_at) where purge_failures > 0;

-- The account that an answer is about, where the path of its request names none.
alter table idempotency_key add column about_account uuid;
