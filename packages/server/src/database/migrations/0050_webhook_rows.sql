-- A tenant is never deleted, and its endpoints refer to it. Checking that for each delivery and each attempt was a lookup
-- and a lock of the tenant's row.
alter table webhook_delivery drop constraint webhook_delivery_tenant_id_fkey;
alter table webhook_attempt drop constraint webhook_attempt_tenant_id_fkey;
