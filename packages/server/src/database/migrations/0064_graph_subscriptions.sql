-- Serves releases from 0060 on.

-- The subscription by which Microsoft Graph notifies of the changes of an account, as it was last made or renewed.
create table graph_subscription (
  account_id uuid primary key references account,
  subscription_id text not null,
  -- Part of what proves a notification. New with each subscription.
  nonce text not null,
  -- A subscription does not outlast the grant under which it was made.
  begun_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  renew_at timestamptz not null,
  -- The last event in the life of the subscription that nothing has acted upon.
  event text check (event in ('reauthorize', 'removed', 'missed'))
);
