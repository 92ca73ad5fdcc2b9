-- Serves releases from 0060 on.

-- The state of the content of a draft that other clients can change while its id stays (Graph): the provider's revision
-- of the message, and a digest of the content. Null for all other messages. The digest is also null if the content was
-- not read.
alter table message add column draft_revision text, add column draft_digest text;
