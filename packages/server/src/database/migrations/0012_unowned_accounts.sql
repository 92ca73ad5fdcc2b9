-- A claim skips from tenant to tenant, so that the accounts of suspended ones are not read each time.
drop index account_unowned;
create index account_unowned on account (tenant_id, id)
  where owner_instance is null and status = 'active' and deleted_at is null;

-- Accounts of suspended tenants that one process owns, without those of others.
drop index account_owned_tenant;
create index account_owned_tenant on account (tenant_id, owner_instance) where owner_instance is not null;
