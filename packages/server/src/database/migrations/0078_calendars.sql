-- Serves releases from 0060 on.

-- A calendar at the provider, which one cursor follows.
create table calendar (
  id uuid primary key,
  tenant_id uuid not null,
  account_id uuid not null,
  provider_key text collate "C" not null,
  name text not null,
  description text,
  -- {name, address}
  owner jsonb,
  is_primary boolean not null,
  access text not null check (access in ('owner', 'writer', 'reader', 'freebusy')),
  -- Whether access and the grant of the account allow events to be written.
  can_edit boolean not null,
  color text,
  -- An IANA name.
  time_zone text,
  is_hidden boolean not null,
  -- The order of the provider.
  position integer not null,
  cursor jsonb,
  -- Whether it was read to its end once.
  is_complete boolean not null default false,
  -- A digest of what its events depend on besides themselves: the zone of times without one, and the account's addresses.
  basis text not null,
  foreign key (tenant_id, account_id) references account (tenant_id, id),
  unique (account_id, provider_key)
);

create table calendar_event (
  id uuid primary key,
  tenant_id uuid not null,
  account_id uuid not null,
  calendar_id uuid not null references calendar,
  kind text not null check (kind in ('single', 'series', 'exception')),
  -- Null: an exception without a key of its own.
  provider_key text collate "C",
  -- Null: an exception without a version of its own, or a series of which only exceptions are known.
  version text,
  -- The id that an event keeps in every calendar; null if its key lasts.
  uid text collate "C",
  -- An exception has a series, and the wall clock in the zone of the series at which the rule would have it start.
  series_id uuid references calendar_event on delete cascade,
  member text,
  original_at timestamptz(3),
  -- What is shown of the event and never searched, but for its body. Null: a series of which only exceptions are known,
  -- which is not shown.
  shown jsonb,
  -- The instants of its start and end.
  start_at timestamptz(3),
  end_at timestamptz(3),
  -- RRULE, EXRULE and RDATE lines of a series.
  recurrence jsonb,
  -- Members of a series that were taken from it, within the window: instants, ascending.
  cancelled_starts jsonb,
  -- Whether the provider gives the occurrences of a series, and not its rule.
  is_expanded boolean not null default false,
  -- Whether a series has more members than are expanded.
  is_truncated boolean not null default false,
  -- When the last that is known of it ends. Infinite: a series that goes on after `spanned_until`.
  ends_at timestamptz not null,
  -- The time up to which the occurrences are known. Null unless a series goes on after it.
  spanned_until timestamptz(3),
  -- The release of the zone data that gave the instants of a single or a series, its exceptions and spans.
  -- Empty: they are to be made again.
  zone_release text collate "C",
  -- The number of the look that found a single or a series gone from its calendar; null while it is there. It may be found
  -- in another calendar, and is deleted if it is not.
  missing_look bigint,
  updated_at timestamptz(3) not null,
  check ((kind = 'exception') = (series_id is not null and member is not null)),
  check ((kind = 'exception') = (zone_release is null)),
  check ((shown is null) = (start_at is null) and (start_at is null) = (end_at is null)),
  foreign key (tenant_id, account_id) references account (tenant_id, id)
);
create unique index calendar_event_key on calendar_event (calendar_id, provider_key) where provider_key is not null;
create unique index calendar_event_member on calendar_event (series_id, member) where series_id is not null;
create index calendar_event_account on calendar_event (account_id);
create index calendar_event_calendar on calendar_event (calendar_id);
create index calendar_event_uid on calendar_event (account_id, uid) where uid is not null;
create index calendar_event_missing on calendar_event (account_id) where missing_look is not null;
create index calendar_event_ended on calendar_event (account_id, ends_at);
create index calendar_event_spanned on calendar_event (spanned_until) where spanned_until is not null;
create index calendar_event_release on calendar_event (zone_release) where zone_release is not null;

-- Lists never read bodies.
create table calendar_event_body (
  event_id uuid primary key references calendar_event on delete cascade,
  account_id uuid not null references account,
  content_type text not null check (content_type in ('text', 'html')),
  content text not null
);
create index calendar_event_body_account on calendar_event_body (account_id);

-- Members that were taken from a series.
create table calendar_taken (
  series_id uuid not null references calendar_event on delete cascade,
  account_id uuid not null references account,
  member text not null,
  -- Null: the member has no key of its own.
  provider_key text collate "C",
  version text,
  primary key (series_id, member)
);
create index calendar_taken_account on calendar_taken (account_id);

-- What takes place at a time within the window: a single, an exception, or an occurrence of a series.
create table calendar_span (
  id uuid primary key,
  account_id uuid not null references account,
  calendar_id uuid not null references calendar,
  -- The single or the series that it comes from.
  root_id uuid not null references calendar_event on delete cascade,
  -- The row that it is presented from.
  event_id uuid not null references calendar_event on delete cascade,
  start_at timestamptz(3) not null,
  end_at timestamptz(3) not null,
  start_wall text not null,
  end_wall text not null,
  -- The member and the key at the provider of an occurrence that the provider expanded; null for one that the service expanded.
  member text,
  provider_key text collate "C",
  is_busy boolean not null,
  -- Over a day.
  is_long boolean not null
);
create index calendar_span_list on calendar_span (account_id, start_at, id);
create index calendar_span_long on calendar_span (account_id, end_at) where is_long;
create index calendar_span_root on calendar_span (root_id);
create index calendar_span_event on calendar_span (event_id);
create index calendar_span_calendar on calendar_span (calendar_id);

-- Items that a calendar has and that could not be read.
create table quarantined_calendar_event (
  calendar_id uuid not null references calendar on delete cascade,
  account_id uuid not null references account,
  provider_key text collate "C" not null,
  -- It is read again once it has another one. Null if the provider named none.
  version text,
  reason text not null,
  reader_version smallint not null,
  -- When it is read again whatever its version is.
  next_attempt_at timestamptz not null,
  primary key (calendar_id, provider_key)
);
create index quarantined_calendar_event_account on quarantined_calendar_event (account_id);

-- Where the calendars of an account that are in the index come from. Those of another home are others.
create table calendar_home (
  account_id uuid primary key references account,
  home text not null
);
