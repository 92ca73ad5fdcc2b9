-- Events that wait to be posted to an endpoint, and those that were given up. What is acknowledged is deleted. There is
-- no reference to the endpoint, so that deleting one takes no longer the more waits for it; a sweep deletes its rows.
create table webhook_delivery (
  endpoint_id uuid not null,
  event_id bigint not null,
  tenant_id uuid not null references tenant,
  -- the event's
  account_id uuid,
  -- 0: a test; 1: an event; 2: a replay. Lower ones are attempted first
  priority smallint not null,
  -- since when it is in the queue
  queued_at timestamptz not null default clock_timestamp(),
  -- null: it was given up
  due_at timestamptz default clock_timestamp(),
  -- what the receiver asked for by Retry-After, which holds even where due_at does not
  held_until timestamptz,
  -- when the receiver asked for it
  held_at timestamptz,
  -- all of them, and those that its schedule counts
  attempts integer not null default 0,
  tries smallint not null default 0,
  -- how often it was given up and has become a replay
  replays integer not null default 0,
  -- of a test, which is no event of the feed: the event as it is posted
  test_type text,
  test_body text,
  primary key (endpoint_id, event_id),
  check ((priority = 0) = (test_body is not null)),
  check ((test_type is null) = (test_body is null))
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);
create index webhook_delivery_due on webhook_delivery (endpoint_id, priority, due_at, event_id) where due_at is not null;

-- How fast an endpoint is given what waits for it, and by which process. Exists from the first delivery on.
create table webhook_dispatch (
  endpoint_id uuid primary key,
  tenant_id uuid not null references tenant,
  -- when to look at it next; null: nothing waits
  due_at timestamptz,
  served_at timestamptz not null default '-infinity',
  -- the lease of the process that dispatches for it; null: any process may
  owner uuid,
  in_flight_max smallint not null default 8,
  -- since in_flight_max last grew
  acknowledged smallint not null default 0,
  -- in a row
  failures integer not null default 0,
  -- failed ones since it is failing, and when the next one is due
  probes smallint not null default 0,
  probe_at timestamptz,
  -- the event that was the last probe: deliveries take turns
  probed_event_id bigint not null default 0,
  paused_until timestamptz,
  -- since the last success
  failed_attempts integer not null default 0,
  -- at most three of them
  failed_event_ids bigint[] not null default '{}',
  -- whether deliveries whose schedule rested are still to be made due
  is_releasing boolean not null default false,
  -- what a receiver asked for before then does not count any more
  holds_cleared_at timestamptz,
  -- what was queued until then is given up, as far as that has not been done yet
  give_up_before timestamptz
) with (fillfactor = 50);
create index webhook_dispatch_due on webhook_dispatch (due_at) where due_at is not null;
create index webhook_dispatch_owner on webhook_dispatch (owner) where owner is not null;
create index webhook_dispatch_tenant on webhook_dispatch (tenant_id);
create index webhook_dispatch_giving_up on webhook_dispatch (endpoint_id) where give_up_before is not null;

-- The last attempts of each endpoint.
create table webhook_attempt (
  endpoint_id uuid not null,
  id uuid not null,
  tenant_id uuid not null references tenant,
  event_id bigint not null,
  event_type text not null,
  account_id uuid,
  attempt integer not null,
  status_code smallint,
  error text,
  response_excerpt text,
  duration_ms integer not null,
  is_replay boolean not null,
  is_test boolean not null,
  occurred_at timestamptz(3) not null,
  primary key (endpoint_id, id),
  check ((status_code is null) = (error is not null))
);
