-- Finds an equal job that nobody has claimed.
create index job_unclaimed on job (tenant_id, kind) where claimed_by is null;
-- Tells whether a source is still followed.
create index mailbox_source on mailbox (account_id, source) where source is not null;
-- Messages of a mailbox that the interface deleted may turn up elsewhere.
create index mailbox_deleted on mailbox (account_id) where is_deleted;
-- What is asked for of an outbox, but for its latest entries.
create index outbox_reference on outbox (account_id, reference, created_at desc, id desc) where reference is not null;
create index outbox_unsent on outbox (account_id, created_at desc, id desc) where status <> 'sent';

-- How often a process died that was about to send the message.
alter table outbox add column losses integer not null default 0;
create index outbox_losses on outbox (losses) where due_at is not null and losses > 0;
