-- Serves releases from 0060 on.

-- Keys of a calendar that the interface changed, and of which the provider was not asked since. Steps of the sync leave them
-- alone.
create table calendar_mark (
  account_id uuid not null references account,
  calendar_id uuid not null references calendar on delete cascade,
  provider_key text collate "C" not null,
  -- Another one after each change.
  mark uuid not null default gen_random_uuid(),
  primary key (calendar_id, provider_key)
);
create index calendar_mark_account on calendar_mark (account_id);

-- A write that takes several calls to the provider and that is not recorded yet. The owner of the account finishes it or finds
-- that it was not begun.
create table calendar_intent (
  -- The provider's creation is found by it.
  id uuid primary key,
  account_id uuid not null references account,
  intent jsonb not null,
  created_at timestamptz not null default clock_timestamp()
);
create index calendar_intent_account on calendar_intent (account_id, created_at);

-- Whether the end of a calendar was announced. Its events are being deleted. Its key is its own id by then, since another
-- calendar may have the one that it had.
alter table calendar add column is_ending boolean not null default false;
