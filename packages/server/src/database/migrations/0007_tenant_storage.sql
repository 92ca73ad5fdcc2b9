-- What the files of each tenant take on the disk: always the sum of its message_blob.bytes, which every store asks for.
create table tenant_storage (
  tenant_id uuid primary key references tenant,
  bytes bigint not null
);
-- Every stored message changes it; so the next version fits beside it, and no index is touched.
alter table tenant_storage set (fillfactor = 20);
insert into tenant_storage (tenant_id, bytes) select tenant_id, sum(bytes) from message_blob group by tenant_id;
