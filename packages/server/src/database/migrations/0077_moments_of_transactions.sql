-- Serves releases from 0073 on: the function sets the same columns, and an index changes no answer.

-- A transaction may read the time, and store what it has computed from it after the clock was set back. The moment at
-- which that was set is the time at which the transaction began, then.
create or replace function note_set_moment() returns trigger language plpgsql as $$
declare
  moment constant timestamptz := greatest(now(), clock_timestamp());
begin
  case tg_argv[0]
    when 'attempt' then new.attempt_set_at := moment;
    when 'due' then new.due_set_at := moment;
    when 'judge' then new.judge_set_at := moment;
    when 'pause' then new.pause_set_at := moment;
    when 'probe' then new.probe_set_at := moment;
    when 'purge' then new.purge_set_at := moment;
    when 'retry' then new.retry_set_at := moment;
    when 'task' then new.task_set_at := moment;
  end case;
  return new;
end $$;

-- Outside a transaction:
-- Finds the accounts of a mailbox by its inbox. All inboxes of IMAP have one name.
create index concurrently mailbox_inbox on mailbox (provider_key)
  where role = 'inbox' and upper(provider_key) <> 'INBOX';
