-- Serves releases from 0050 on: their statements only miss an index.
-- Outside a transaction:
create index concurrently account_signed_in_address on account (lower(email))
  where auth_method = 'oauth' and deleted_at is null;
drop index concurrently if exists account_gmail_address;
