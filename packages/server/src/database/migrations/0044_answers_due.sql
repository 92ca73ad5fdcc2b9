-- Each second a process asks whether a message that may answer a send is due, whatever its account.
create index pending_answer_due_at on pending_answer (due_at);
