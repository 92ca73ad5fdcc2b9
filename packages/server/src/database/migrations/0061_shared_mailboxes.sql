-- Serves releases from 0060 on: they make no shared mailboxes, and the constraints hold for all other accounts.

-- A shared mailbox is an account that is opened with the grant of another one, its delegate.
alter table account
  add column delegate_account_id uuid,
  -- Whether the user of the account is asked for access to shared mailboxes.
  add column wants_shared boolean not null default false,
  add constraint account_delegate_account_id_fkey foreign key (tenant_id, delegate_account_id)
    references account (tenant_id, id) not valid,
  add constraint account_delegate_check check ((delegate_account_id is not null) = (auth_method = 'delegate')) not valid;

-- Shared mailboxes up to this id have followed a refusal of the grant, and others have not. Null if all have.
alter table oauth_grant add column spread_after uuid;

-- Outside a transaction:
alter table account validate constraint account_delegate_account_id_fkey;
alter table account validate constraint account_delegate_check;
create index concurrently account_delegate on account (delegate_account_id, id)
  where delegate_account_id is not null and deleted_at is null;
create index concurrently oauth_grant_spread on oauth_grant (account_id) where spread_after is not null;
