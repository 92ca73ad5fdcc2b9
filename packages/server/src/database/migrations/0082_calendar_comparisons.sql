-- Serves releases from 0078 on: they leave the new table alone.

-- The last comparison of each calendar with its listing at the provider.
create table calendar_comparison (
  calendar_id uuid primary key references calendar (id) on delete cascade,
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
create index calendar_comparison_account on calendar_comparison (account_id);
create trigger due_set before update of due_at on calendar_comparison for each row
  when (new.due_at is not null and new.due_at is distinct from old.due_at) execute function note_set_moment('due');

-- Outside a transaction:
create index concurrently account_half_calendar_verified on account_half (verified_at)
  where kind = 'calendar' and owner_instance is not null and differs_since is null;
