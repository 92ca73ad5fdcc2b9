-- The version of the word rules that a document was written by (kit/search-text/version.ts). 0: written by a release
-- that did not say.
alter table message_search add column version smallint not null default 0;

-- Every message of the account has a document of this version or a later one. Accounts that lag behind the running
-- release are being rewritten; a search finds them here without reading the others.
alter table account add column search_version smallint not null default 0;
create index account_search_version on account (search_version, id) where deleted_at is null;
