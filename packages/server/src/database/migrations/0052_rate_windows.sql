-- Serves releases from 0050 on.
-- The requests of the current minute, by tenant and credential, where several processes count without Redis. Nothing is
-- lost with it but a minute's counts, so it is not logged.
create unlogged table rate_window (
  name text primary key,
  -- The number of the window, counted since 1970.
  number bigint not null,
  count integer not null
) with (fillfactor = 50);
