-- What a plan includes besides mail; null: everything.
alter table plan add column modules text[];

-- A message whose opens or clicks are tracked. Its links lead on for as long as the account is kept, also after the entry
-- of the outbox is gone.
create table tracked_send (
  outbox_id uuid primary key,
  account_id uuid not null references account,
  -- the URLs of its links as JSON, compressed and sealed
  links bytea,
  -- opens and clicks that are kept one by one
  items integer not null default 0,
  -- of people, and of machines
  opens integer not null default 0,
  machine_opens integer not null default 0,
  first_opened_at timestamptz,
  last_opened_at timestamptz,
  clicks integer not null default 0,
  machine_clicks integer not null default 0,
  first_clicked_at timestamptz,
  last_clicked_at timestamptz,
  -- clicks of people by the index of the link
  link_clicks jsonb not null default '{}'
);
create index tracked_send_account on tracked_send (account_id);

-- An open or a click, until its entry of the outbox is gone.
create table tracking_item (
  id uuid primary key,
  outbox_id uuid not null references tracked_send on delete cascade,
  account_id uuid not null,
  tenant_id uuid not null,
  kind text not null check (kind in ('open', 'click', 'honeypot')),
  -- the index of the link
  link integer,
  -- by whom, in a form that is good for this message only
  client bytea not null,
  -- what the request says of its program
  sign text check (sign in ('prefetch', 'scanner')),
  ip text,
  user_agent text,
  occurred_at timestamptz not null,
  -- null until it is judged
  is_machine boolean,
  machine_reason text check (machine_reason in ('prefetch', 'scanner', 'honeypot', 'burst'))
);
create index tracking_item_unjudged on tracking_item (occurred_at) where is_machine is null;
create index tracking_item_send on tracking_item (outbox_id, occurred_at desc, id desc);
create index tracking_item_account on tracking_item (account_id);
