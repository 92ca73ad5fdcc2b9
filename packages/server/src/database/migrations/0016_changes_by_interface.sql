-- Keys of messages that the interface changed and the sync has not looked at since. Ordinary steps of the sync leave
-- them alone; the sync then asks the provider about each of them, and forgets it if it still has the same mark.
-- is_added: came into its source by the interface, so the cursor does not count it yet. is_removed: left it so.
create table changed_key (
  account_id uuid not null references account (id),
  source text not null,
  uid bigint,
  remote_id text collate "C",
  is_added boolean not null,
  is_removed boolean not null,
  mark uuid not null default gen_random_uuid()
);
create unique index changed_key_key on changed_key (account_id, source, uid, remote_id) nulls not distinct;

-- The interface deleted it and announced that. The row stays until the sync has deleted its messages.
alter table mailbox add column is_deleted boolean not null default false;

-- Bytes, as the provider counts them; null where it does not say.
alter table message alter column size drop not null;
update message set size = null where size = 0;
