-- Apps at providers that users of a tenant sign in with. Apps of the operator are in the configuration.
create table oauth_app (
  id uuid primary key,
  tenant_id uuid not null references tenant,
  provider text not null check (provider in ('google', 'microsoft')),
  -- of Microsoft only
  cloud text,
  name text not null,
  client_id text not null,
  credential_type text not null check (credential_type in ('secret', 'certificate')),
  -- sealed with the installation's key of OAuth apps
  secret bytea not null,
  -- null: the defaults of the provider
  scopes text[],
  -- all three or none, of Google only
  push_topic text,
  push_subscription text,
  push_service_account text,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  check ((cloud is not null) = (provider = 'microsoft')),
  check (num_nonnulls(push_topic, push_subscription, push_service_account) in (0, 3))
);
create index oauth_app_list on oauth_app (tenant_id, created_at desc, id desc);
create index oauth_app_push on oauth_app (push_subscription) where push_subscription is not null;

-- Accounts that are deleted do not keep an app from being deleted.
alter table account add foreign key (oauth_app_id) references oauth_app on delete set null;
create index account_oauth_app on account (oauth_app_id) where oauth_app_id is not null;

-- A link by which a user connects a mailbox: a hosted connect session, or a headless authorization.
create table connect_session (
  id uuid primary key,
  tenant_id uuid not null references tenant,
  kind text not null check (kind in ('hosted', 'headless')),
  -- SHA-256 of the token in its link
  digest bytea not null unique,
  -- offered in this order
  providers text[] not null,
  password_imap boolean not null,
  microsoft_cloud text,
  -- the apps that were named, by provider
  app_ids json not null,
  redirect_uri text,
  return_state text,
  external_ref text,
  login_hint text,
  -- the settings of the account to come
  settings json not null,
  is_reconnect boolean not null,
  -- the account that signs in again, or the one that was connected
  account_id uuid,
  -- its address, once it is connected
  email text,
  -- how often the form has tried a login, and searched for servers
  logins integer not null default 0,
  searches integer not null default 0,
  created_at timestamptz(3) not null default clock_timestamp(),
  expires_at timestamptz(3) not null,
  -- null while it is pending, unless it has expired
  ended_at timestamptz(3),
  -- null: it completed
  error text,
  check (error is null or ended_at is not null),
  check (not is_reconnect or account_id is not null)
);
create index connect_session_account on connect_session (account_id) where account_id is not null;
create index connect_session_created on connect_session (created_at);

-- One press of Continue: a sign-in at the provider that has begun. Its code can be redeemed only with the secret in the
-- cookie of the browser, from which the PKCE verifier and the nonce are derived.
create table connect_attempt (
  id uuid primary key,
  session_id uuid not null references connect_session on delete cascade,
  -- the showing of the page that it was begun from: each works once
  showing uuid not null,
  provider text not null,
  cloud text,
  -- null: the operator's
  app_id uuid,
  -- what the provider is asked for
  scopes text[] not null,
  -- SHA-256 of `state` and of the cookie's secret
  state_digest bytea not null unique,
  cookie_digest bytea not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  expires_at timestamptz(3) not null,
  -- it came back, or a later attempt took its place
  ended_at timestamptz(3),
  unique (session_id, showing)
);
