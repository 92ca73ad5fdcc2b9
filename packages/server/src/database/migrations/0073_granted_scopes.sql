-- Serves releases from 0073 on: no release was published before it.

-- What a grant allows is read from its scopes.
alter table account drop column granted_calendar, drop column granted_contacts;

-- How far accounts of a provider were given the halves of a kind that this provider was not followed by before. Those that
-- are connected later get theirs at once.
create table half_spread (
  kind text not null,
  provider text not null,
  -- Accounts up to this id have the half if they are to have it; null: all have it.
  after_id uuid,
  primary key (kind, provider)
);
