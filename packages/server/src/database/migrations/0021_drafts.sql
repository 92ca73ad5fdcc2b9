-- The draft that a message is a content of, and which content: from the field X-Waxwing-Draft.
alter table message add column draft_id text;
alter table message add column draft_generation integer;
-- Grows with each new content of a draft under the same id. The ETag of a draft is made of it.
alter table message add column content_version integer not null default 0;
-- Until then the provider need not have the message: it lost the draft, and `message_copy` has its content.
alter table message add column kept_until timestamptz;
create index message_draft on message (account_id, draft_id) where draft_id is not null;

-- The sealed content of a message that its provider lost, in pieces.
create table message_copy (
  message_id uuid not null references message on delete cascade,
  number integer not null,
  sealed bytea not null,
  primary key (message_id, number)
);

-- The change of a draft that is under way or was the last: no later one may have its generation.
create table draft_change (
  message_id uuid primary key references message on delete cascade,
  generation integer not null,
  -- null once it has ended; changes with If-Match wait for nobody, and are refused meanwhile
  held_until timestamptz
);

-- What the entry was taken from: the draft is removed once it is sent, if it is still that.
alter table outbox add column draft_version integer;
create index outbox_draft on outbox (draft_id) where status in ('queued', 'sending');

-- The same over all tries of one request, whichever process runs it.
alter table idempotency_key add column attempt uuid not null default gen_random_uuid();
-- A try has ended without an answer that is kept.
alter table idempotency_key add column has_failed boolean not null default false;
