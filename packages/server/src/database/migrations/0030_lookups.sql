-- Finds an equal job that nobody has claimed.
create index job_unclaimed on job (tenant_id, kind) where claimed_by is null;
-- Tells whether a source is still followed.
create index mailbox_source on mailbox (account_id, source) where source is not null;
