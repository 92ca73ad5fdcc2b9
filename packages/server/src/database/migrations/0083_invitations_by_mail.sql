-- Serves releases from 0082 on: their processes queue no invitations. If one of them sends an invitation that a newer process
-- has queued, it treats the invitation as a send: it asks suppression lists and announces events. The mail itself is the same.

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
