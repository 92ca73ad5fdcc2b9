-- Addresses that an account may send from besides its own.
create table identity (
  id uuid primary key,
  tenant_id uuid not null,
  account_id uuid not null,
  address text not null,
  -- lower case, domain as A-labels: what decides whether two addresses are the same
  compared_address text not null,
  name text,
  -- {html, text}
  signature jsonb,
  created_at timestamptz not null default clock_timestamp(),
  foreign key (tenant_id, account_id) references account (tenant_id, id),
  unique (account_id, compared_address)
);

-- How an account sends. An account without a row has the defaults.
create table mail_settings (
  account_id uuid primary key,
  tenant_id uuid not null,
  sign_by_default boolean not null default false,
  -- of the account's own address: {html, text}
  signature jsonb,
  foreign key (tenant_id, account_id) references account (tenant_id, id)
);
