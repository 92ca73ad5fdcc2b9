-- Calls and commands that were not chained yet. Writers only append here, so they wait for nobody. The id holds the
-- time, and is the time at which the list shows the row.
create table audit_open (
  id uuid primary key,
  tenant_id uuid not null,
  actor_type text not null,
  actor_id uuid,
  actor_label text,
  action text not null,
  surface text not null,
  targets jsonb not null,
  ip text,
  user_agent text,
  status smallint not null,
  error_reason text,
  request_id text not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
-- The list of a tenant begins with its rows here.
create index audit_open_list on audit_open (tenant_id, id);

-- The audit log. Rows of a tenant form a chain without gaps: `hash` authenticates the row and the hash before it.
create table audit_entry (
  tenant_id uuid not null,
  position bigint not null,
  hash bytea not null,
  id uuid not null,
  actor_type text not null,
  actor_id uuid,
  actor_label text,
  action text not null,
  surface text not null,
  targets jsonb not null,
  ip text,
  user_agent text,
  status smallint not null,
  error_reason text,
  request_id text not null,
  primary key (tenant_id, position)
);

-- The list, and each of its filters, newest first.
create unique index audit_entry_list on audit_entry (tenant_id, id);
create index audit_entry_actor_type on audit_entry (tenant_id, actor_type, id);
create index audit_entry_actor on audit_entry (tenant_id, actor_id, id) where actor_id is not null;
create index audit_entry_action on audit_entry (tenant_id, action, id);
create index audit_entry_resource on audit_entry (tenant_id, split_part(action, '.', 1), id);
create index audit_entry_account on audit_entry (tenant_id, (targets ->> 'accountId'), id)
  where targets ->> 'accountId' is not null;
create index audit_entry_success on audit_entry (tenant_id, id) where status / 100 = 2;
create index audit_entry_failure on audit_entry (tenant_id, id) where status / 100 <> 2;

-- Both ends of each tenant's chain: the last row that was removed because of its age, and the newest row. `seal`
-- authenticates them. `broken_position` is the position after which one was found that did not fit its seal.
create table audit_chain (
  tenant_id uuid primary key,
  base_position bigint not null,
  base_hash bytea not null,
  head_position bigint not null,
  head_hash bytea not null,
  broken_position bigint,
  seal bytea not null
);
