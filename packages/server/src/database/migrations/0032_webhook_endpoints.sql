-- URLs that events of a tenant are posted to.
create table webhook_endpoint (
  id uuid primary key,
  tenant_id uuid not null references tenant,
  url text not null,
  description text,
  -- as the interface shows them
  filters json not null,
  is_enabled boolean not null default true,
  -- null while it is enabled, and where a request disabled it
  disabled_reason text check (disabled_reason in ('failing', 'gone')),
  -- of deliveries that are no tests
  last_success_at timestamptz(3),
  failing_since timestamptz(3),
  -- 32 bytes each, sealed with the installation's webhook key
  secret bytea not null,
  previous_secret bytea,
  previous_secret_expires_at timestamptz(3),
  -- only events after this one are queued by themselves: the newest one when the endpoint was last enabled
  from_event_id bigint not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  check (not is_enabled or disabled_reason is null),
  check ((previous_secret is null) = (previous_secret_expires_at is null))
) with (fillfactor = 70);
create index webhook_endpoint_list on webhook_endpoint (tenant_id, created_at desc, id desc);
