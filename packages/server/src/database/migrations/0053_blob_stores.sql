-- Serves releases from 0050 on.

-- The store of blobs, a folder or a bucket, holds the id of this row as its mark. So a process that is given another
-- store notices it, instead of taking every stored message for lost.
create table blob_mark (
  is_only boolean primary key default true check (is_only),
  id uuid not null default gen_random_uuid(),
  -- False until a store is known to hold the mark.
  is_written boolean not null default false,
  -- The history of the feed in which the rows of message_blob name every object of the store. In another one, which a
  -- restore has begun, objects without a row are not removed until an operator has declared the restore.
  epoch text not null
);
insert into blob_mark (epoch) select epoch from feed_epoch;

-- Uploads in parts that have neither ended nor been aborted. Not every object store can list them.
create table blob_upload (
  upload_id text primary key,
  key text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index blob_upload_created on blob_upload (created_at);

-- How far the sweep of objects without a row has come.
create table blob_sweep (
  is_only boolean primary key default true check (is_only),
  reached text not null default ''
);
insert into blob_sweep default values;
