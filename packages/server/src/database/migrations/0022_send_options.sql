-- What a send was made with. Templates and lists may be gone while the entry is kept.
alter table outbox add column template_id uuid;
alter table outbox add column list_id text;
alter table outbox add column mail_merge_id uuid;
alter table outbox add column track_opens boolean not null default false;
alter table outbox add column track_clicks boolean not null default false;
