-- Serves releases from 0061 on: older ones take accounts of Microsoft Graph, which they cannot follow.

-- Rights to have a request under way to a mailbox of Microsoft Graph, which processes borrow besides the one that belongs
-- to whoever follows the mailbox. Nothing is lost with the table but who may call for some seconds, so it is not logged.
create unlogged table graph_slot (
  -- A digest of the app and the mailbox: names have addresses of users.
  name text not null,
  number smallint not null check (number between 1 and 2),
  -- The process that has the slot, as long as its lease is valid; null: none has it.
  instance uuid,
  -- The process that takes the slot next, if it asks until then.
  wanted_by uuid,
  wanted_until timestamptz,
  -- Until then Microsoft Graph refuses calls of the app to the mailbox.
  paused_until timestamptz,
  -- When it was last taken or asked for.
  used_at timestamptz not null default clock_timestamp(),
  primary key (name, number)
) with (fillfactor = 50);
