alter table account
  -- The provider's lasting id of the mailbox's user, such as google:1074…; null where none signs in, or it is not known.
  add column subject text,
  -- Since when the provider has said that the mailbox is gone or closed; null while it has not.
  add column closed_since timestamptz;

-- One live account a user. The subject comes first, since a grant is shared by accounts of any tenants.
create unique index account_subject on account (subject, tenant_id) where deleted_at is null and subject is not null;

-- The right to use an account's mailbox, which its user granted to an OAuth app. It goes with the account.
create table oauth_grant (
  account_id uuid primary key references account,
  -- New with each sign-in, so that what became of an earlier grant cannot be taken for this one.
  id uuid not null unique,
  provider text not null check (provider in ('google', 'microsoft')),
  -- Of the OAuth app. Only that app can refresh the grant.
  client_id text not null,
  scopes text[] not null,
  -- Counts the refreshes.
  version bigint not null default 0,
  refresh_token bytea not null,
  -- The refresh token before this one, until then.
  previous_refresh_token bytea,
  previous_until timestamptz,
  access_token bytea not null,
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  -- When the access token is to be replaced; somewhat before it expires.
  refresh_at timestamptz not null,
  -- Who is asking the provider for a new access token, until then.
  refreshing_by uuid,
  refreshing_until timestamptz,
  -- Refreshes that failed in a row, why the last one did, and when the provider may be asked again.
  failures integer not null default 0,
  failure text,
  failure_reason text,
  retry_at timestamptz,
  -- When the provider said for certain that the grant has ended.
  refused_at timestamptz,
  created_at timestamptz not null default now(),
  check ((previous_refresh_token is null) = (previous_until is null))
);
create index oauth_grant_previous on oauth_grant (previous_until) where previous_until is not null;

-- Grants of deleted accounts that are to be revoked at the provider, unless another account still uses them.
create table grant_revocation (
  id uuid primary key,
  tenant_id uuid not null references tenant,
  provider text not null check (provider in ('google', 'microsoft')),
  client_id text not null,
  -- Null where it was not known; then the address tells who granted it.
  subject text,
  email text not null,
  -- Sealed with the key ring, since the account's key may be destroyed before.
  refresh_token bytea not null,
  -- The row is deleted then, whether the grant was revoked or not.
  expires_at timestamptz not null
);
create index grant_revocation_expires on grant_revocation (expires_at);
