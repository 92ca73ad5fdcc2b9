-- The watch by which Gmail notifies a topic of an account's changes, as it was last begun or renewed.
create table gmail_watch (
  account_id uuid primary key references account,
  topic text not null,
  -- A watch does not outlast the grant under which it was begun.
  begun_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  renew_at timestamptz not null
);

-- A notice names the mailbox by its address alone.
create index account_gmail_address on account (lower(email)) where provider = 'gmail' and deleted_at is null;
