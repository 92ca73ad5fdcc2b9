-- Serves releases from 0060 on.

-- Ships with PostgreSQL, and the owner of a database may create it. By its index, parts of words are found.
create extension if not exists pg_trgm;

-- A folder of contacts at the provider, which one cursor follows. A provider without folders has one that is not shown.
create table contact_folder (
  id uuid primary key,
  tenant_id uuid not null,
  account_id uuid not null,
  provider_key text collate "C" not null,
  name text not null,
  -- The order of the provider.
  position integer not null,
  is_default boolean not null,
  is_read_only boolean not null,
  is_shown boolean not null,
  cursor jsonb,
  -- Whether it was read to its end once.
  is_complete boolean not null default false,
  foreign key (tenant_id, account_id) references account (tenant_id, id),
  unique (account_id, provider_key)
);

create table contact (
  id uuid primary key,
  tenant_id uuid not null,
  account_id uuid not null,
  folder_id uuid not null references contact_folder,
  provider_key text collate "C" not null,
  version text not null,
  -- The id that a card keeps in every address book; null if the provider has none.
  uid text collate "C",
  display_name text,
  given_name text,
  middle_name text,
  family_name text,
  nickname text,
  organization text,
  job_title text,
  department text,
  -- [{address, type}] and [{number, type}]
  emails jsonb not null,
  phones jsonb not null,
  -- YYYY-MM-DD, or --MM-DD without a year.
  birthday text,
  notes text,
  photo_state text not null check (photo_state in ('unknown', 'none', 'some')),
  photo_version text,
  -- What lists are ordered by, and what searches look in; both in lower case.
  sort_name text collate "C" not null,
  search_text text collate "C" not null,
  -- Gone from where it was; it may be found in another folder, and is deleted if it is not.
  -- Numbers the look that found this.
  missing_look bigint,
  updated_at timestamptz(3) not null,
  foreign key (tenant_id, account_id) references account (tenant_id, id),
  unique (account_id, provider_key)
);
create index contact_list on contact (account_id, sort_name, id);
create index contact_folder_list on contact (folder_id, sort_name, id);
create index contact_uid on contact (account_id, uid) where uid is not null;
create index contact_missing on contact (account_id) where missing_look is not null;
create index contact_search on contact using gin (account_id, search_text gin_trgm_ops);

-- Contacts that the interface changed, and of which the provider was not asked since. Steps of the sync leave them alone.
create table contact_mark (
  account_id uuid not null references account,
  provider_key text collate "C" not null,
  -- Another one after each change.
  mark uuid not null default gen_random_uuid(),
  primary key (account_id, provider_key)
);

-- Contacts that the provider has and that could not be read.
create table quarantined_contact (
  account_id uuid not null references account,
  folder_id uuid not null references contact_folder on delete cascade,
  provider_key text collate "C" not null,
  -- It is read again once it has another one. Null if the provider named none.
  version text,
  reason text not null,
  reader_version smallint not null,
  -- When it is read again whatever its version is.
  next_attempt_at timestamptz not null,
  primary key (account_id, provider_key)
);
create index quarantined_contact_folder on quarantined_contact (folder_id);

-- Photos of contacts in the store of blobs. A row is written before its object, and has no size until that is complete.
create table contact_photo (
  id uuid primary key,
  tenant_id uuid not null,
  account_id uuid not null,
  -- Null: the photo is of no use any more.
  contact_id uuid references contact on delete set null,
  version text not null,
  content_type text not null,
  -- What the object takes in the store.
  bytes bigint not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  foreign key (tenant_id, account_id) references account (tenant_id, id)
);
create unique index contact_photo_contact on contact_photo (contact_id) where contact_id is not null;
create index contact_photo_account on contact_photo (account_id);
create index contact_photo_unused on contact_photo (created_at) where contact_id is null;
