-- Serves releases from 0050 on.
-- The units of providers' quotas that several processes have used in the last minute. Nothing is lost with it but a
-- minute's counts, so it is not logged.
create unlogged table quota_use (
  -- A digest of the name of a quota: names have addresses of users.
  name text primary key,
  -- The seconds since 1970 in which something was used, and the units that were.
  seconds bigint[] not null default '{}',
  units bigint[] not null default '{}'
) with (fillfactor = 50);
