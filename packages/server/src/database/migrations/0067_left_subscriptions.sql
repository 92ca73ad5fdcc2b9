-- Serves releases from 0060 on: they leave the subscriptions of accounts that were paused or deleted alone.

-- Subscriptions of accounts that were paused or deleted. A job deletes them at Microsoft Graph.
create table left_subscription (
  id uuid primary key,
  tenant_id uuid not null references tenant,
  cloud text not null,
  subscription_id text not null,
  -- Sealed with the key ring, since the account's key may be destroyed before.
  access_token bytea not null,
  -- When the access token expires. The row is then deleted, whether the subscription was or not.
  expires_at timestamptz not null
);
create index left_subscription_expires on left_subscription (expires_at);
