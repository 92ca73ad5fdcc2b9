-- Serves releases from 0050 on: the triggers only set columns that are new.

-- What waits keeps the moment at which its time was set. If that lies ahead, the clock was set back since then, and the
-- time means nothing: it counts again from now on (src/jobs/stored-times.ts). Triggers note it, so that no statement can
-- forget to, and neither can those of an older release that runs beside this one.
alter table account add column purge_set_at timestamptz default now();
alter table event_follower add column due_set_at timestamptz default now();
alter table job add column due_set_at timestamptz default now();
alter table mail_merge_pace add column due_set_at timestamptz default now();
alter table mailbox_comparison add column due_set_at timestamptz default now();
alter table oauth_grant add column retry_set_at timestamptz default now();
alter table outbox add column due_set_at timestamptz default now(), add column task_set_at timestamptz default now(),
  -- Whether the caller has named the time of the send: then it is kept, whatever the clock says.
  add column is_scheduled boolean not null default true;
alter table pending_answer add column due_set_at timestamptz default now();
alter table quarantined_message add column attempt_set_at timestamptz default now();
alter table sending_account add column due_set_at timestamptz default now(),
  add column pause_set_at timestamptz default now();
alter table tracked_send add column judge_set_at timestamptz default now();
alter table webhook_delivery add column due_set_at timestamptz default now();
alter table webhook_dispatch add column due_set_at timestamptz default now(),
  add column probe_set_at timestamptz default now(), add column pause_set_at timestamptz default now();

create function note_set_moment() returns trigger language plpgsql as $$
begin
  case tg_argv[0]
    when 'attempt' then new.attempt_set_at := clock_timestamp();
    when 'due' then new.due_set_at := clock_timestamp();
    when 'judge' then new.judge_set_at := clock_timestamp();
    when 'pause' then new.pause_set_at := clock_timestamp();
    when 'probe' then new.probe_set_at := clock_timestamp();
    when 'purge' then new.purge_set_at := clock_timestamp();
    when 'retry' then new.retry_set_at := clock_timestamp();
    when 'task' then new.task_set_at := clock_timestamp();
  end case;
  return new;
end $$;

create trigger purge_set before update of purge_after on account for each row
  when (new.purge_after is not null and new.purge_after is distinct from old.purge_after) execute function note_set_moment('purge');
create trigger due_set before update of due_at on event_follower for each row
  when (new.due_at is not null and new.due_at is distinct from old.due_at) execute function note_set_moment('due');
create trigger due_set before update of due_at on job for each row
  when (new.due_at is not null and new.due_at is distinct from old.due_at) execute function note_set_moment('due');
create trigger due_set before update of due_at on mail_merge_pace for each row
  when (new.due_at is not null and new.due_at is distinct from old.due_at) execute function note_set_moment('due');
create trigger due_set before update of due_at on mailbox_comparison for each row
  when (new.due_at is not null and new.due_at is distinct from old.due_at) execute function note_set_moment('due');
create trigger retry_set before update of retry_at on oauth_grant for each row
  when (new.retry_at is not null and new.retry_at is distinct from old.retry_at) execute function note_set_moment('retry');
create trigger due_set before update of due_at on outbox for each row
  when (new.due_at is not null and new.due_at is distinct from old.due_at) execute function note_set_moment('due');
create trigger task_set before update of task_at on outbox for each row
  when (new.task_at is not null and new.task_at is distinct from old.task_at) execute function note_set_moment('task');
create trigger due_set before update of due_at on pending_answer for each row
  when (new.due_at is not null and new.due_at is distinct from old.due_at) execute function note_set_moment('due');
create trigger attempt_set before update of next_attempt_at on quarantined_message for each row
  when (new.next_attempt_at is not null and new.next_attempt_at is distinct from old.next_attempt_at) execute function note_set_moment('attempt');
create trigger due_set before update of due_at on sending_account for each row
  when (new.due_at is not null and new.due_at is distinct from old.due_at) execute function note_set_moment('due');
create trigger pause_set before update of paused_until on sending_account for each row
  when (new.paused_until is not null and new.paused_until is distinct from old.paused_until) execute function note_set_moment('pause');
create trigger judge_set before update of judge_due_at on tracked_send for each row
  when (new.judge_due_at is not null and new.judge_due_at is distinct from old.judge_due_at) execute function note_set_moment('judge');
create trigger due_set before update of due_at on webhook_delivery for each row
  when (new.due_at is not null and new.due_at is distinct from old.due_at) execute function note_set_moment('due');
create trigger due_set before update of due_at on webhook_dispatch for each row
  when (new.due_at is not null and new.due_at is distinct from old.due_at) execute function note_set_moment('due');
create trigger probe_set before update of probe_at on webhook_dispatch for each row
  when (new.probe_at is not null and new.probe_at is distinct from old.probe_at) execute function note_set_moment('probe');
create trigger pause_set before update of paused_until on webhook_dispatch for each row
  when (new.paused_until is not null and new.paused_until is distinct from old.paused_until) execute function note_set_moment('pause');
