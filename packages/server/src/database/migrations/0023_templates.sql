create table template (
  id uuid primary key,
  tenant_id uuid not null references tenant,
  -- null: shared by the tenant
  account_id uuid,
  name text not null,
  description text,
  source text not null,
  external_ref text,
  subject text,
  html text,
  text text,
  preview_text text,
  format text not null,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  updated_at timestamptz not null default clock_timestamp(),
  foreign key (tenant_id, account_id) references account (tenant_id, id),
  unique nulls not distinct (tenant_id, account_id, name)
);
create index template_newest on template (tenant_id, created_at desc, id desc);
create index template_account on template (account_id);
