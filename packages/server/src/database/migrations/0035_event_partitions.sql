-- The events are divided by ranges of ids, so that old ones go without a delete. What there is becomes the first range
-- as it stands. Attaching it reads it once. The ranges to come are made by events/partitions.ts; an event for which
-- there is none goes into the default.
alter table event rename to event_first;
alter table event_first rename constraint event_pkey to event_first_pkey;
alter table event_first rename constraint event_tenant_id_fkey to event_first_tenant_id_fkey;
alter index event_created rename to event_first_created;

create table event (
  tenant_id uuid not null references tenant,
  id bigint not null,
  account_id uuid,
  type text not null,
  data json not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, id)
) partition by range (id);
create index event_created on event (created_at);
create table event_default partition of event default;

do $$
declare
  range_ids constant bigint := 1000000;
  bound bigint;
begin
  select (last_value / range_ids + 1) * range_ids into bound from event_id;
  execute format('alter table event attach partition event_first for values from (minvalue) to (%s)', bound);
  for nth in 1..2 loop
    execute format('create table event_%s partition of event for values from (%s) to (%s)', bound, bound, bound + range_ids);
    bound := bound + range_ids;
  end loop;
end
$$;

-- A change of a tenant's settings that is still to be announced for its accounts after an id.
create table settings_announcement (
  id uuid primary key,
  tenant_id uuid not null references tenant,
  -- the settings before the change
  before jsonb not null,
  after_id uuid not null,
  created_at timestamptz not null default clock_timestamp()
);
