-- Serves releases from 0060 on: they leave the channels of accounts that were paused or deleted alone.

-- The channels by which Google Calendar notifies of the changes of calendars, each as it was last opened.
create table calendar_channel (
  -- A notice names it.
  id uuid not null unique,
  account_id uuid not null references account,
  calendar_key text collate "C" not null,
  -- By which Google ends a channel, together with its id.
  resource_id text not null,
  -- SHA-256 of the token that proves a notice.
  token_digest bytea not null,
  -- Where its notices go.
  address text not null,
  -- A channel does not outlast the grant under which it was opened.
  begun_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  renew_at timestamptz not null,
  primary key (account_id, calendar_key)
);

-- Of a channel, which is left behind as a subscription is; null: a subscription of Microsoft Graph.
alter table left_subscription add column resource_id text;
