-- Serves releases from 0073 on: they go on with graph_subscription, which a later migration drops.

-- The subscriptions by which Microsoft Graph notifies of the changes of a half of an account, as they were last made or
-- renewed. They take the place of graph_subscription, which has those of mail alone.
create table half_subscription (
  account_id uuid not null references account,
  kind text not null,
  subscription_id text not null,
  -- Part of what proves a notification. New with each subscription.
  nonce text not null,
  -- A subscription does not outlast the grant under which it was made.
  begun_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  renew_at timestamptz not null,
  -- The last event in the life of the subscription that nothing has acted upon.
  event text check (event in ('reauthorize', 'removed', 'missed')),
  primary key (account_id, kind)
);
insert into half_subscription (account_id, kind, subscription_id, nonce, begun_at, expires_at, renew_at, event)
select account_id, 'mail', subscription_id, nonce, begun_at, expires_at, renew_at, event from graph_subscription;
