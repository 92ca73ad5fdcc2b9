-- Serves releases from 0079 on: they leave the new columns alone.

-- The parts of a noted write by which other writes and the sync find it, so that they need not read all of it.
alter table calendar_intent
  -- Whether the columns below are filled. Releases before this one leave them alone.
  add column is_listed boolean not null default false,
  -- The item that a split or a move begins at; null: it is another write.
  add column made_from jsonb,
  -- The calendar that an item is moved to, and the id of the item; null: it is another write.
  add column moved_to text,
  add column moved_id uuid;
