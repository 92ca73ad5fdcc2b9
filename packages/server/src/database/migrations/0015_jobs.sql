-- Every process registers. The releases before registered those with the role sync only.
alter table instance
  add column roles text[] not null default '{sync}',
  add column host text,
  add column version text;

-- Work that is enqueued in the transaction of its effect and runs after the commit, at least once. A job that is done
-- is deleted.
create table job (
  id uuid primary key,
  tenant_id uuid not null references tenant,
  kind text not null,
  payload jsonb not null,
  -- when it runs next: a claim sets the time of the attempt after, for the case that its process dies
  due_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  -- who runs it; a claim holds as long as the lease
  claimed_by uuid references instance on delete set null
);
create index job_due on job (due_at);
create index job_claimed on job (claimed_by) where claimed_by is not null;
