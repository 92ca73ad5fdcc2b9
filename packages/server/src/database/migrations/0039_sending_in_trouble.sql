-- Since when tracked links in messages of the tenant lead nowhere.
alter table tenant add column links_off_at timestamptz;

-- When the last suspension of the tenant ended. Deadlines of what waited meanwhile count from then on.
alter table tenant add column resumed_at timestamptz;

-- The suppression list that a send named, since complaints may arrive after its entry is gone.
alter table sent_message add column list_id text;
update sent_message set list_id = outbox.list_id from outbox
where outbox.list_id is not null and sent_message.account_id = outbox.account_id
  and sent_message.internet_message_id = outbox.internet_message_id;

-- Opens and clicks of the message could not be judged: failures in a row, and the time of the next try.
alter table tracked_send
  add column judge_failures integer not null default 0,
  add column judge_due_at timestamptz;
create index tracked_send_judge_due on tracked_send (judge_due_at) where judge_due_at is not null;

-- The header of an inbound message says that it reports on another one; null: it does not.
alter table message add column may_be_report boolean;
