-- What the tenants under it may use. null: no limit.
create table plan (
  id uuid primary key,
  name text not null unique,
  api_calls_per_minute integer check (api_calls_per_minute > 0),
  api_calls_per_minute_per_key integer check (api_calls_per_minute_per_key > 0),
  max_accounts integer check (max_accounts >= 0),
  body_storage_allowed boolean not null,
  storage_bytes bigint check (storage_bytes >= 0),
  created_at timestamptz not null default now()
);

-- null: everything included, no limits
alter table tenant add column plan_id uuid references plan;

-- The first answer to each Idempotency-Key, and which requests are at work on one.
create table idempotency_key (
  tenant_id uuid not null references tenant,
  key text not null,
  -- of method, path, query and body: what the key may be sent with again
  fingerprint bytea not null,
  -- what a credential must be allowed to get the answer
  scope text not null,
  account_id uuid,
  -- of the request that runs; every effect is bound to it
  claim uuid not null,
  -- renewed while the request runs; once past, its process is dead and another may take over
  locked_until timestamptz not null,
  -- both null while the request runs
  status integer,
  answer bytea,
  expires_at timestamptz not null,
  primary key (tenant_id, key)
);
create index idempotency_key_expiry on idempotency_key (expires_at);
