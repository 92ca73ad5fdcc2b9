-- An account's owner is a registered process, or null. A lease that ran out is never renewed: its process registers
-- again, under another id.
update account set owner_instance = null
where owner_instance is not null and not exists (select from instance where id = owner_instance);
alter table account
  add foreign key (owner_instance) references instance on delete set null,
  -- since when the account has not been caught up; null while it is
  add column behind_since timestamptz,
  -- since when every attempt to follow it has failed; null after a success
  add column failing_since timestamptz,
  -- how often its owner has listed the mailboxes to settle which missing messages are lost
  add column look bigint not null default 0;

-- What recurring statements ask for: each finds what is due without reading the accounts that are well.
drop index account_owner;
create index account_owner on account (owner_instance, id) where owner_instance is not null;
create index account_owned_tenant on account (tenant_id) where owner_instance is not null;
create index account_attention on account (owner_instance)
  where owner_instance is not null and (sync_wanted <> '{}' or status <> 'active' or deleted_at is not null);
create index account_unowned on account (id)
  where owner_instance is null and status = 'active' and deleted_at is null;
create index account_behind on account (behind_since)
  where behind_since is not null and status = 'active' and deleted_at is null;
create index tenant_suspended on tenant (id) where suspended_at is not null;

-- Which look first lacked a message: no clock decides whether it is lost. Null while the provider has it where it was,
-- 'infinity' while its mailbox is read again after a renumbering.
alter table message add column missing_look double precision;
update message set missing_look = case when missing_since = 'infinity' then 'infinity'::double precision else 0 end
where missing_since is not null;
drop index message_missing;
alter table message drop column missing_since;
create index message_missing on message (account_id) where missing_look is not null;
