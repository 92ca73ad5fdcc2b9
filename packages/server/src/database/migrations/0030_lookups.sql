-- Finds an equal job that nobody has claimed.
create index job_unclaimed on job (tenant_id, kind) where claimed_by is null;
-- Tells whether a source is still followed.
create index mailbox_source on mailbox (account_id, source) where source is not null;
-- Messages of a mailbox that the interface deleted may turn up elsewhere.
create index mailbox_deleted on mailbox (account_id) where is_deleted;
