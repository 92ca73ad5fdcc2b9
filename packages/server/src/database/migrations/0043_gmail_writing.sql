-- The provider's id of the draft that the message is the content of, where that lasts while the key of the content
-- changes.
alter table message add column draft_key text collate "C";
create index message_draft_key on message (account_id, draft_key) where draft_key is not null;

-- The key of the copy that the provider filed, which may have another Message-ID than was sent.
alter table sent_message add column remote_id text collate "C";
create index sent_message_remote on sent_message (account_id, remote_id) where remote_id is not null;

alter table outbox
  -- The key of that copy, as the provider answered it.
  add column sent_key text,
  -- The provider was found not to have the message, long after it was handed over, so that it was tried again.
  add column was_absent boolean not null default false,
  drop constraint outbox_task_check,
  add constraint outbox_task_check check (task in ('look_up', 'file_copy', 'link_copy', 'mark_original'));

alter table identity
  -- `provider`: the provider offers the address; `custom`: it was added here.
  add column source text not null default 'custom' check (source in ('provider', 'custom')),
  -- {html, text}, as it was set at the provider
  add column provider_signature jsonb,
  -- Whether the provider still offers it. What was set here is kept in case it comes back.
  add column is_offered boolean not null default true;

alter table mail_settings
  -- of the account's own address, as it was set at the provider: {html, text}
  add column provider_signature jsonb,
  -- When the addresses that the provider offers were read, and when that was tried last.
  add column identities_read_at timestamptz,
  add column identities_asked_at timestamptz;
