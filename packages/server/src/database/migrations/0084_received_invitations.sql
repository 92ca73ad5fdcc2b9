-- Serves releases from 0078 on: they leave the new column and the new table alone.

-- The message has a calendar object, so that it may be an invitation; null: it has none, or came before this release.
alter table message add column may_be_invitation boolean;

-- Messages that are still to be read, since they may be invitations.
create table pending_invitation (
  message_id uuid primary key references message (id) on delete cascade,
  tenant_id uuid not null references tenant (id),
  account_id uuid not null references account (id),
  due_at timestamptz not null default clock_timestamp(),
  due_set_at timestamptz default now(),
  attempts integer not null default 0,
  -- The instance that reads it.
  claimed_by uuid references instance (id) on delete set null,
  created_at timestamptz not null default clock_timestamp()
);
create index pending_invitation_due on pending_invitation (account_id, due_at);
create index pending_invitation_due_at on pending_invitation (due_at);
create index pending_invitation_claimed on pending_invitation (claimed_by) where claimed_by is not null;
create trigger due_set before update of due_at on pending_invitation for each row
  when (new.due_at is not null and new.due_at is distinct from old.due_at) execute function note_set_moment('due');

-- Outside a transaction:
-- Accounts whose calendars come from a server of their own, to which invitations may come by mail.
create index concurrently account_calendar_server on account (tenant_id)
  where imap #>> '{dav,calendarUrl}' is not null and deleted_at is null;
