-- Work that recurs on a schedule. The row of a task is added by the first process that runs it.
create table recurring_task (
  name text primary key,
  -- when it runs next: a claim sets the time of the run after
  due_at timestamptz not null,
  -- who runs it; a claim holds as long as the lease
  claimed_by uuid references instance on delete set null
);

-- The releases before kept their schedule there.
drop schema if exists graphile_worker cascade;
