-- The position of a follower of the event log, for each tenant. A tenant without a row is followed from its first event.
create table event_follower (
  name text not null,
  tenant_id uuid not null references tenant,
  -- events up to this one are handled
  after_id bigint not null default 0,
  -- failures in a row, and when it is tried again
  failures integer not null default 0,
  due_at timestamptz,
  primary key (name, tenant_id)
) with (fillfactor = 50);
create index event_follower_tenant on event_follower (tenant_id);

-- What arrived before this release is not looked at.
insert into event_follower (name, tenant_id, after_id)
select 'answers', tenant.id, coalesce((select max(event.id) from event where event.tenant_id = tenant.id), 0) from tenant;

alter table message
  -- of an inbound message: the send that it answers, by In-Reply-To or References
  add column answered_outbox_id uuid,
  add column classification jsonb;

-- Messages that may answer a send, until they were looked at.
create table pending_answer (
  message_id uuid primary key references message on delete cascade,
  tenant_id uuid not null references tenant,
  account_id uuid not null references account,
  due_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  claimed_by uuid references instance on delete set null,
  created_at timestamptz not null default clock_timestamp()
);
create index pending_answer_due on pending_answer (account_id, due_at);
create index pending_answer_claimed on pending_answer (claimed_by) where claimed_by is not null;

-- Recipients that a send did not reach. Each is announced once.
create table bounce (
  outbox_id uuid not null,
  -- as addresses are compared
  address text not null,
  account_id uuid not null references account,
  type text not null check (type in ('hard', 'soft')),
  created_at timestamptz not null default clock_timestamp(),
  primary key (outbox_id, address)
);
create index bounce_account on bounce (account_id);
