-- No statement is planned by what stands in these, and to gather it takes three quarters of the time of an analysis, of
-- which a first sync needs many.
alter table message
  alter column internet_message_id set statistics 0,
  alter column subject set statistics 0,
  alter column "from" set statistics 0,
  alter column "to" set statistics 0,
  alter column cc set statistics 0,
  alter column bcc set statistics 0,
  alter column reply_to set statistics 0,
  alter column sender_text set statistics 0,
  alter column recipients_text set statistics 0,
  alter column snippet set statistics 0,
  alter column sent_at set statistics 0,
  alter column categories set statistics 0;
