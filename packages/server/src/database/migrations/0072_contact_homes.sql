-- Serves releases from 0060 on.

-- Where the contacts of an account that are in the index come from. Those of another home are others.
create table contact_home (
  account_id uuid primary key references account,
  home text not null
);
