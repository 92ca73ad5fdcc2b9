-- Finds an equal job that nobody has claimed.
create index job_unclaimed on job (tenant_id, kind) where claimed_by is null;
