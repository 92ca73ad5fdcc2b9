-- Serves releases from 0060 on: they prepare no sends, so no entry has the new task.

alter table outbox
  -- An attempt may have left a copy at the provider that was prepared and never sent. Set before there can be one.
  add column may_be_prepared boolean not null default false,
  drop constraint outbox_task_check,
  add constraint outbox_task_check
    check (task in ('look_up', 'file_copy', 'link_copy', 'mark_original', 'discard')) not valid;

-- Outside a transaction:
alter table outbox validate constraint outbox_task_check;
