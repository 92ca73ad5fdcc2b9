-- What was counted and is not in usage_day yet. Rows are only inserted, by the transaction of what they count, so that
-- those who count for a tenant at the same time do not wait for each other.
create table usage_count (
  tenant_id uuid not null references tenant,
  -- in UTC
  day date not null,
  what text not null check (
    what in ('read', 'write', 'send', 'admin', 'sends', 'webhook_deliveries', 'ai_calls')
  ),
  count integer not null check (count > 0)
);
create index usage_count_day on usage_count (tenant_id, day);

-- The usage of a tenant by day in UTC.
create table usage_day (
  tenant_id uuid not null references tenant,
  day date not null,
  -- the highest number that was sampled
  live_accounts integer not null default 0,
  -- calls, by the scope of their operation
  read bigint not null default 0,
  write bigint not null default 0,
  send bigint not null default 0,
  admin bigint not null default 0,
  sends bigint not null default 0,
  webhook_deliveries bigint not null default 0,
  ai_calls bigint not null default 0,
  -- at the end of the day; null until it was listed
  stored_bytes bigint,
  primary key (tenant_id, day)
) with (fillfactor = 70);
create index usage_day_day on usage_day (day);

alter table plan add column webhook_endpoints integer check (webhook_endpoints >= 0);
