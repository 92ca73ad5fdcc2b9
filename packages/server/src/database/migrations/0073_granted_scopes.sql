-- Serves releases from 0073 on: no release was published before it.

-- What a grant allows is read from its scopes.
alter table account drop column granted_calendar, drop column granted_contacts;
-- They were switched off for shared mailboxes, since no delegate could allow them, and could not be switched on.
update account set settings_override = settings_override - 'calendarEnabled' - 'contactsEnabled'
where auth_method = 'delegate' and settings_override ?| array['calendarEnabled', 'contactsEnabled'];

-- How far accounts of a provider were given the halves of a kind that this provider was not followed by before. Those that
-- are connected later get theirs at once.
create table half_spread (
  kind text not null,
  provider text not null,
  -- Accounts up to this id have the half if they are to have it; null: all have it.
  after_id uuid,
  primary key (kind, provider)
);

-- The last comparison of each folder of contacts with its listing at the provider.
create table contact_comparison (
  folder_id uuid primary key references contact_folder (id) on delete cascade,
  account_id uuid not null references account (id),
  -- When it is compared next.
  due_at timestamptz not null,
  due_set_at timestamptz default now(),
  -- Null until the first comparison has ended.
  compared_at timestamptz,
  listed integer not null default 0,
  indexed integer not null default 0,
  missing integer not null default 0,
  extra integer not null default 0,
  changed integer not null default 0,
  repaired integer not null default 0,
  -- After how many hours it is compared again, since repairs do not help; 0 while they do.
  stuck_hours integer not null default 0
);
create index contact_comparison_account on contact_comparison (account_id);
create trigger due_set before update of due_at on contact_comparison for each row
  when (new.due_at is not null and new.due_at is distinct from old.due_at) execute function note_set_moment('due');

-- Outside a transaction:
create index concurrently account_half_contacts_verified on account_half (verified_at)
  where kind = 'contacts' and owner_instance is not null and differs_since is null;
create index concurrently account_half_problem on account_half (kind) where problem is not null;
