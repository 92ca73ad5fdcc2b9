-- Which history the change feed belongs to. A restore to an earlier state begins another one: its cursors carry the new
-- epoch, and those of before are refused. One row.
create table feed_epoch (
  is_only boolean primary key default true check (is_only),
  -- '' until the first restore; cursors that were issued before there were epochs belong to it
  epoch text not null default '',
  -- where the database was when it was last opened; null until then. This table's own oid is part of it, so no migration
  -- may make the table again.
  place jsonb
);
insert into feed_epoch default values;
