-- Ships with PostgreSQL, and the owner of a database may create it. It lets one GIN index hold accounts and words.
create extension if not exists btree_gin;

-- What messages are found by: of each one row of words. Apart from message, whose rows change with every flag.
create table message_search (
  message_id uuid primary key references message on delete cascade,
  account_id uuid not null,
  received_at timestamptz(3) not null,
  document tsvector not null
);
-- What matches is put in the order of its time before documents are looked at: long ones lie apart from the rows.
alter table message_search alter column document set storage external;
alter table message_search set (toast_tuple_target = 128);
create index message_search_document on message_search using gin (account_id, document);

-- Whether the words of the stored body are in message_search.
alter table message_blob add column is_indexed boolean not null default false;
create index message_blob_unindexed on message_blob (id) where message_id is not null and not is_indexed;
