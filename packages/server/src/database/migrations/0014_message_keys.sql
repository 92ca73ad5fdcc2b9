-- The provider's own id of a message, where it has one that lasts and is unique in the account: opaque, compared by bytes.
-- Null where messages are numbered within their mailbox (message_mailbox.uid).
alter table message add column remote_id text collate "C";
create unique index message_remote on message (account_id, remote_id) where remote_id is not null;

-- Messages that could not be read are told apart by source and key, as cursors are: several mailboxes may share a source.
alter table quarantined_message add column source text, add column remote_id text collate "C";
update quarantined_message as held set source = mailbox.source from mailbox where mailbox.id = held.mailbox_id;
delete from quarantined_message where source is null;
alter table quarantined_message drop constraint quarantined_message_pkey;
alter table quarantined_message drop column mailbox_id, alter column source set not null, alter column uid drop not null;
create unique index quarantined_message_key on quarantined_message (account_id, source, uid, remote_id)
  nulls not distinct;
drop index quarantined_message_account;
