-- Serves releases from 0082 on: they queue no invitations, and send one of a newer process as any message, with its events.

alter table outbox
  -- A send of the interface, or an invitation of a calendar event, which the interface does not show in the outbox.
  add column origin text not null default 'send',
  -- The event that an invitation is about. It may be deleted already.
  add column event_id uuid,
  add constraint outbox_origin_check check (origin in ('send', 'invitation')) not valid,
  add constraint outbox_event_check check ((origin = 'invitation') = (event_id is not null)) not valid;

-- Outside a transaction:
alter table outbox validate constraint outbox_origin_check;
alter table outbox validate constraint outbox_event_check;
