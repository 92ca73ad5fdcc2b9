-- Serves releases from 0059 on: no release was published before it.

-- An account is followed by halves: its mail, its calendars and its contacts. Each has a row with the state in which it
-- is followed. A kind that nothing follows yet has no row.
create table account_half (
  account_id uuid not null,
  tenant_id uuid not null,
  kind text not null check (kind in ('mail', 'calendar', 'contacts')),
  -- Those of the account while the account is active and not deleted: a step holds only its half.
  owner_instance uuid references instance (id) on delete set null,
  owner_epoch bigint not null default 0,
  -- Raised by each change of what the half is reached by.
  stamp bigint not null default 1,
  initialized_at timestamptz,
  sync_wanted text[] not null default '{}',
  runtime_state text,
  runtime_detail text,
  runtime_instance uuid,
  runtime_updated_at timestamptz,
  behind_since timestamptz,
  failing_since timestamptz,
  closed_since timestamptz,
  differs_since timestamptz,
  verified_at timestamptz,
  -- Why an active account cannot be reached for this half.
  problem text,
  look bigint not null default 0,
  search_version smallint not null default 0,
  primary key (account_id, kind),
  foreign key (tenant_id, account_id) references account (tenant_id, id)
);

-- Nobody writes in between, not even what is no process of the service.
lock table account in access exclusive mode;

insert into account_half (account_id, tenant_id, kind, owner_instance, owner_epoch, initialized_at, sync_wanted,
  runtime_state, runtime_detail, runtime_instance, runtime_updated_at, behind_since, failing_since, closed_since,
  differs_since, verified_at, problem, look, search_version)
select id, tenant_id, 'mail', case when status = 'active' and deleted_at is null then owner_instance end, owner_epoch,
  initialized_at, sync_wanted, runtime_state, runtime_detail, runtime_instance, runtime_updated_at, behind_since,
  failing_since, closed_since, differs_since, verified_at, case when status = 'active' then status_reason end, look,
  search_version
from account where purged_at is null;

update account set status_reason = null where status = 'active' and status_reason is not null;

-- With the columns go the indexes that name them.
alter table account
  drop column initialized_at, drop column calendar_initialized_at, drop column contacts_initialized_at,
  drop column sync_wanted, drop column runtime_state, drop column runtime_detail, drop column runtime_instance,
  drop column runtime_updated_at, drop column behind_since, drop column failing_since, drop column closed_since,
  drop column differs_since, drop column verified_at, drop column look, drop column search_version;

create index account_attention on account (owner_instance)
  where owner_instance is not null and (status <> 'active' or deleted_at is not null);
create index account_half_owner on account_half (owner_instance, account_id) where owner_instance is not null;
create index account_half_attention on account_half (owner_instance)
  where owner_instance is not null and sync_wanted <> '{}';
create index account_half_behind on account_half (behind_since) where behind_since is not null;
create index account_half_differs on account_half (differs_since) where differs_since is not null;
create index account_half_verified on account_half (verified_at)
  where kind = 'mail' and owner_instance is not null and differs_since is null;
create index account_half_search_version on account_half (search_version, account_id) where kind = 'mail';
