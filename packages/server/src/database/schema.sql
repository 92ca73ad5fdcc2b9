-- Made by `npm run tables` from the migrations: the schema as it stands, to be read and reviewed. Do not edit.

create extension btree_gin;

create extension pg_trgm;

create sequence event_id as bigint start 1 increment 1 cache 1;

CREATE OR REPLACE FUNCTION public.note_set_moment()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

create table account (
  id uuid not null,
  tenant_id uuid not null,
  provider text not null,
  email text not null,
  display_name text,
  external_ref text,
  oauth_app_id uuid,
  cloud text,
  status text default 'active'::text not null,
  status_reason text,
  settings_override jsonb default '{}'::jsonb not null,
  auth_method text not null,
  imap jsonb,
  data_key bytea,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  deleted_at timestamp with time zone,
  purge_after timestamp with time zone,
  purged_at timestamp with time zone,
  owner_instance uuid,
  owner_epoch bigint default 0 not null,
  wake_window_at timestamp with time zone,
  wake_count integer default 0 not null,
  purge_failures integer default 0 not null,
  subject text,
  purge_set_at timestamp with time zone default now(),
  delegate_account_id uuid,
  wants_shared boolean default false not null,
  constraint account_pkey PRIMARY KEY (id),
  constraint account_auth_method_check CHECK ((auth_method = ANY (ARRAY['oauth'::text, 'password'::text, 'org_connection'::text, 'delegate'::text]))),
  constraint account_delegate_account_id_fkey FOREIGN KEY (tenant_id, delegate_account_id) REFERENCES account(tenant_id, id),
  constraint account_delegate_check CHECK (((delegate_account_id IS NOT NULL) = (auth_method = 'delegate'::text))),
  constraint account_oauth_app_id_fkey FOREIGN KEY (oauth_app_id) REFERENCES oauth_app(id) ON DELETE SET NULL,
  constraint account_owner_instance_fkey FOREIGN KEY (owner_instance) REFERENCES instance(id) ON DELETE SET NULL,
  constraint account_provider_check CHECK ((provider = ANY (ARRAY['gmail'::text, 'graph'::text, 'imap'::text]))),
  constraint account_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'reauth_required'::text, 'disabled'::text]))),
  constraint account_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id),
  constraint account_tenant_id_id_key UNIQUE (tenant_id, id)
);
CREATE INDEX account_attention ON public.account USING btree (owner_instance) WHERE ((owner_instance IS NOT NULL) AND ((status <> 'active'::text) OR (deleted_at IS NOT NULL)));
CREATE INDEX account_calendar_server ON public.account USING btree (tenant_id) WHERE (((imap #>> '{dav,calendarUrl}'::text[]) IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX account_delegate ON public.account USING btree (delegate_account_id, id) WHERE ((delegate_account_id IS NOT NULL) AND (deleted_at IS NULL));
CREATE UNIQUE INDEX account_email ON public.account USING btree (tenant_id, lower(email)) WHERE (deleted_at IS NULL);
CREATE INDEX account_external_ref ON public.account USING btree (tenant_id, external_ref) WHERE (deleted_at IS NULL);
CREATE INDEX account_list ON public.account USING btree (tenant_id, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX account_oauth_app ON public.account USING btree (oauth_app_id) WHERE (oauth_app_id IS NOT NULL);
CREATE INDEX account_owned_tenant ON public.account USING btree (tenant_id, owner_instance) WHERE (owner_instance IS NOT NULL);
CREATE INDEX account_owner ON public.account USING btree (owner_instance, id) WHERE (owner_instance IS NOT NULL);
CREATE INDEX account_purge ON public.account USING btree (purge_after) WHERE ((deleted_at IS NOT NULL) AND (purged_at IS NULL));
CREATE INDEX account_purge_failing ON public.account USING btree (deleted_at) WHERE (purge_failures > 0);
CREATE INDEX account_signed_in_address ON public.account USING btree (lower(email)) WHERE ((auth_method = 'oauth'::text) AND (deleted_at IS NULL));
CREATE UNIQUE INDEX account_subject ON public.account USING btree (subject, tenant_id) WHERE ((deleted_at IS NULL) AND (subject IS NOT NULL));
CREATE INDEX account_unowned ON public.account USING btree (tenant_id, id) WHERE ((owner_instance IS NULL) AND (status = 'active'::text) AND (deleted_at IS NULL));
CREATE TRIGGER purge_set BEFORE UPDATE OF purge_after ON public.account FOR EACH ROW WHEN (((new.purge_after IS NOT NULL) AND (new.purge_after IS DISTINCT FROM old.purge_after))) EXECUTE FUNCTION note_set_moment('purge');

create table account_half (
  account_id uuid not null,
  tenant_id uuid not null,
  kind text not null,
  owner_instance uuid,
  owner_epoch bigint default 0 not null,
  stamp bigint default 1 not null,
  initialized_at timestamp with time zone,
  sync_wanted text[] default '{}'::text[] not null,
  runtime_state text,
  runtime_detail text,
  runtime_instance uuid,
  runtime_updated_at timestamp with time zone,
  behind_since timestamp with time zone,
  failing_since timestamp with time zone,
  closed_since timestamp with time zone,
  differs_since timestamp with time zone,
  verified_at timestamp with time zone,
  problem text,
  look bigint default 0 not null,
  search_version smallint default 0 not null,
  constraint account_half_pkey PRIMARY KEY (account_id, kind),
  constraint account_half_kind_check CHECK ((kind = ANY (ARRAY['mail'::text, 'calendar'::text, 'contacts'::text]))),
  constraint account_half_owner_instance_fkey FOREIGN KEY (owner_instance) REFERENCES instance(id) ON DELETE SET NULL,
  constraint account_half_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id)
);
CREATE INDEX account_half_attention ON public.account_half USING btree (owner_instance) WHERE ((owner_instance IS NOT NULL) AND (sync_wanted <> '{}'::text[]));
CREATE INDEX account_half_behind ON public.account_half USING btree (behind_since) WHERE (behind_since IS NOT NULL);
CREATE INDEX account_half_calendar_verified ON public.account_half USING btree (verified_at) WHERE ((kind = 'calendar'::text) AND (owner_instance IS NOT NULL) AND (differs_since IS NULL));
CREATE INDEX account_half_contacts_verified ON public.account_half USING btree (verified_at) WHERE ((kind = 'contacts'::text) AND (owner_instance IS NOT NULL) AND (differs_since IS NULL));
CREATE INDEX account_half_differs ON public.account_half USING btree (differs_since) WHERE (differs_since IS NOT NULL);
CREATE INDEX account_half_owner ON public.account_half USING btree (owner_instance, account_id) WHERE (owner_instance IS NOT NULL);
CREATE INDEX account_half_problem ON public.account_half USING btree (kind) WHERE (problem IS NOT NULL);
CREATE INDEX account_half_search_version ON public.account_half USING btree (search_version, account_id) WHERE (kind = 'mail'::text);
CREATE INDEX account_half_verified ON public.account_half USING btree (verified_at) WHERE ((kind = 'mail'::text) AND (owner_instance IS NOT NULL) AND (differs_since IS NULL));

create table account_secret (
  account_id uuid not null,
  name text not null,
  sealed bytea not null,
  updated_at timestamp with time zone default now() not null,
  constraint account_secret_pkey PRIMARY KEY (account_id, name),
  constraint account_secret_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

create table account_token (
  id uuid not null,
  tenant_id uuid not null,
  account_id uuid not null,
  scopes text[] not null,
  digest bytea not null,
  expires_at timestamp with time zone not null,
  created_at timestamp with time zone default now() not null,
  api_key_id uuid not null,
  constraint account_token_pkey PRIMARY KEY (id),
  constraint account_token_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_key(id),
  constraint account_token_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id)
);
CREATE INDEX account_token_account ON public.account_token USING btree (account_id);

create table api_key (
  id uuid not null,
  tenant_id uuid not null,
  name text not null,
  scopes text[] not null,
  account_ids uuid[],
  digest bytea not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  constraint api_key_pkey PRIMARY KEY (id),
  constraint api_key_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);
CREATE INDEX api_key_tenant ON public.api_key USING btree (tenant_id, created_at);

create table audit_chain (
  tenant_id uuid not null,
  base_position bigint not null,
  base_hash bytea not null,
  head_position bigint not null,
  head_hash bytea not null,
  broken_position bigint,
  seal bytea not null,
  constraint audit_chain_pkey PRIMARY KEY (tenant_id)
);

create table audit_entry (
  tenant_id uuid not null,
  "position" bigint not null,
  hash bytea not null,
  id uuid not null,
  actor_type text not null,
  actor_id uuid,
  actor_label text,
  action text not null,
  surface text not null,
  targets jsonb not null,
  ip text,
  user_agent text,
  status smallint not null,
  error_reason text,
  request_id text not null,
  constraint audit_entry_pkey PRIMARY KEY (tenant_id, "position")
);
CREATE INDEX audit_entry_account ON public.audit_entry USING btree (tenant_id, ((targets ->> 'accountId'::text)), id) WHERE ((targets ->> 'accountId'::text) IS NOT NULL);
CREATE INDEX audit_entry_action ON public.audit_entry USING btree (tenant_id, action, id);
CREATE INDEX audit_entry_actor ON public.audit_entry USING btree (tenant_id, actor_id, id) WHERE (actor_id IS NOT NULL);
CREATE INDEX audit_entry_actor_type ON public.audit_entry USING btree (tenant_id, actor_type, id);
CREATE INDEX audit_entry_failure ON public.audit_entry USING btree (tenant_id, id) WHERE ((status / 100) <> 2);
CREATE UNIQUE INDEX audit_entry_list ON public.audit_entry USING btree (tenant_id, id);
CREATE INDEX audit_entry_resource ON public.audit_entry USING btree (tenant_id, split_part(action, '.'::text, 1), id);
CREATE INDEX audit_entry_success ON public.audit_entry USING btree (tenant_id, id) WHERE ((status / 100) = 2);

create table audit_open (
  id uuid not null,
  tenant_id uuid not null,
  actor_type text not null,
  actor_id uuid,
  actor_label text,
  action text not null,
  surface text not null,
  targets jsonb not null,
  ip text,
  user_agent text,
  status smallint not null,
  error_reason text,
  request_id text not null,
  constraint audit_open_pkey PRIMARY KEY (id)
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=10000);
CREATE INDEX audit_open_list ON public.audit_open USING btree (tenant_id, id);

create table blob_mark (
  is_only boolean default true not null,
  id uuid default gen_random_uuid() not null,
  is_written boolean default false not null,
  epoch text not null,
  constraint blob_mark_pkey PRIMARY KEY (is_only),
  constraint blob_mark_is_only_check CHECK (is_only)
);

create table blob_sweep (
  is_only boolean default true not null,
  reached text default ''::text not null,
  constraint blob_sweep_pkey PRIMARY KEY (is_only),
  constraint blob_sweep_is_only_check CHECK (is_only)
);

create table blob_upload (
  upload_id text not null,
  key text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint blob_upload_pkey PRIMARY KEY (upload_id)
);
CREATE INDEX blob_upload_created ON public.blob_upload USING btree (created_at);

create table bounce (
  outbox_id uuid not null,
  address text not null,
  account_id uuid not null,
  type text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint bounce_pkey PRIMARY KEY (outbox_id, address),
  constraint bounce_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint bounce_type_check CHECK ((type = ANY (ARRAY['hard'::text, 'soft'::text])))
);
CREATE INDEX bounce_account ON public.bounce USING btree (account_id);

create table calendar (
  id uuid not null,
  tenant_id uuid not null,
  account_id uuid not null,
  provider_key text collate "C" not null,
  name text not null,
  description text,
  owner jsonb,
  is_primary boolean not null,
  access text not null,
  can_edit boolean not null,
  color text,
  time_zone text,
  is_hidden boolean not null,
  "position" integer not null,
  cursor jsonb,
  is_complete boolean default false not null,
  basis text not null,
  is_ending boolean default false not null,
  constraint calendar_pkey PRIMARY KEY (id),
  constraint calendar_access_check CHECK ((access = ANY (ARRAY['owner'::text, 'writer'::text, 'reader'::text, 'freebusy'::text]))),
  constraint calendar_account_id_provider_key_key UNIQUE (account_id, provider_key),
  constraint calendar_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id)
);

create table calendar_channel (
  id uuid not null,
  account_id uuid not null,
  calendar_key text collate "C" not null,
  resource_id text not null,
  token_digest bytea not null,
  address text not null,
  begun_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone not null,
  renew_at timestamp with time zone not null,
  constraint calendar_channel_pkey PRIMARY KEY (account_id, calendar_key),
  constraint calendar_channel_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint calendar_channel_id_key UNIQUE (id)
);

create table calendar_comparison (
  calendar_id uuid not null,
  account_id uuid not null,
  due_at timestamp with time zone not null,
  due_set_at timestamp with time zone default now(),
  compared_at timestamp with time zone,
  listed integer default 0 not null,
  indexed integer default 0 not null,
  missing integer default 0 not null,
  extra integer default 0 not null,
  changed integer default 0 not null,
  repaired integer default 0 not null,
  stuck_hours integer default 0 not null,
  constraint calendar_comparison_pkey PRIMARY KEY (calendar_id),
  constraint calendar_comparison_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint calendar_comparison_calendar_id_fkey FOREIGN KEY (calendar_id) REFERENCES calendar(id) ON DELETE CASCADE
);
CREATE INDEX calendar_comparison_account ON public.calendar_comparison USING btree (account_id);
CREATE TRIGGER due_set BEFORE UPDATE OF due_at ON public.calendar_comparison FOR EACH ROW WHEN (((new.due_at IS NOT NULL) AND (new.due_at IS DISTINCT FROM old.due_at))) EXECUTE FUNCTION note_set_moment('due');

create table calendar_event (
  id uuid not null,
  tenant_id uuid not null,
  account_id uuid not null,
  calendar_id uuid not null,
  kind text not null,
  provider_key text collate "C",
  version text,
  uid text collate "C",
  series_id uuid,
  member text,
  original_at timestamp(3) with time zone,
  shown jsonb,
  start_at timestamp(3) with time zone,
  end_at timestamp(3) with time zone,
  recurrence jsonb,
  cancelled_starts jsonb,
  is_expanded boolean default false not null,
  is_truncated boolean default false not null,
  ends_at timestamp with time zone not null,
  spanned_until timestamp(3) with time zone,
  zone_release text collate "C",
  missing_look bigint,
  updated_at timestamp(3) with time zone not null,
  constraint calendar_event_pkey PRIMARY KEY (id),
  constraint calendar_event_calendar_id_fkey FOREIGN KEY (calendar_id) REFERENCES calendar(id),
  constraint calendar_event_check CHECK (((kind = 'exception'::text) = ((series_id IS NOT NULL) AND (member IS NOT NULL)))),
  constraint calendar_event_check1 CHECK (((kind = 'exception'::text) = (zone_release IS NULL))),
  constraint calendar_event_check2 CHECK ((((shown IS NULL) = (start_at IS NULL)) AND ((start_at IS NULL) = (end_at IS NULL)))),
  constraint calendar_event_kind_check CHECK ((kind = ANY (ARRAY['single'::text, 'series'::text, 'exception'::text]))),
  constraint calendar_event_series_id_fkey FOREIGN KEY (series_id) REFERENCES calendar_event(id) ON DELETE CASCADE,
  constraint calendar_event_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id)
);
CREATE INDEX calendar_event_account ON public.calendar_event USING btree (account_id);
CREATE INDEX calendar_event_calendar ON public.calendar_event USING btree (calendar_id);
CREATE INDEX calendar_event_ended ON public.calendar_event USING btree (account_id, ends_at);
CREATE UNIQUE INDEX calendar_event_key ON public.calendar_event USING btree (calendar_id, provider_key) WHERE (provider_key IS NOT NULL);
CREATE UNIQUE INDEX calendar_event_member ON public.calendar_event USING btree (series_id, member) WHERE (series_id IS NOT NULL);
CREATE INDEX calendar_event_missing ON public.calendar_event USING btree (account_id) WHERE (missing_look IS NOT NULL);
CREATE INDEX calendar_event_release ON public.calendar_event USING btree (zone_release) WHERE (zone_release IS NOT NULL);
CREATE INDEX calendar_event_spanned ON public.calendar_event USING btree (spanned_until) WHERE (spanned_until IS NOT NULL);
CREATE INDEX calendar_event_truncated ON public.calendar_event USING btree (account_id, calendar_id) WHERE is_truncated;
CREATE INDEX calendar_event_uid ON public.calendar_event USING btree (account_id, uid) WHERE (uid IS NOT NULL);

create table calendar_event_body (
  event_id uuid not null,
  account_id uuid not null,
  content_type text not null,
  content text not null,
  constraint calendar_event_body_pkey PRIMARY KEY (event_id),
  constraint calendar_event_body_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint calendar_event_body_content_type_check CHECK ((content_type = ANY (ARRAY['text'::text, 'html'::text]))),
  constraint calendar_event_body_event_id_fkey FOREIGN KEY (event_id) REFERENCES calendar_event(id) ON DELETE CASCADE
);
CREATE INDEX calendar_event_body_account ON public.calendar_event_body USING btree (account_id);

create table calendar_home (
  account_id uuid not null,
  home text not null,
  constraint calendar_home_pkey PRIMARY KEY (account_id),
  constraint calendar_home_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

create table calendar_intent (
  id uuid not null,
  account_id uuid not null,
  intent jsonb not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  leased_until timestamp with time zone not null,
  is_listed boolean default false not null,
  made_from jsonb,
  moved_to text,
  moved_id uuid,
  constraint calendar_intent_pkey PRIMARY KEY (id),
  constraint calendar_intent_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);
CREATE INDEX calendar_intent_account ON public.calendar_intent USING btree (account_id, created_at);

create table calendar_mark (
  account_id uuid not null,
  calendar_id uuid not null,
  provider_key text collate "C" not null,
  mark uuid default gen_random_uuid() not null,
  constraint calendar_mark_pkey PRIMARY KEY (calendar_id, provider_key),
  constraint calendar_mark_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint calendar_mark_calendar_id_fkey FOREIGN KEY (calendar_id) REFERENCES calendar(id) ON DELETE CASCADE
);
CREATE INDEX calendar_mark_account ON public.calendar_mark USING btree (account_id);

create table calendar_span (
  id uuid not null,
  account_id uuid not null,
  calendar_id uuid not null,
  root_id uuid not null,
  event_id uuid not null,
  start_at timestamp(3) with time zone not null,
  end_at timestamp(3) with time zone not null,
  start_wall text not null,
  end_wall text not null,
  member text,
  provider_key text collate "C",
  is_busy boolean not null,
  is_long boolean not null,
  constraint calendar_span_pkey PRIMARY KEY (id),
  constraint calendar_span_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint calendar_span_calendar_id_fkey FOREIGN KEY (calendar_id) REFERENCES calendar(id),
  constraint calendar_span_event_id_fkey FOREIGN KEY (event_id) REFERENCES calendar_event(id) ON DELETE CASCADE,
  constraint calendar_span_root_id_fkey FOREIGN KEY (root_id) REFERENCES calendar_event(id) ON DELETE CASCADE
);
CREATE INDEX calendar_span_by_calendar ON public.calendar_span USING btree (calendar_id, start_at, id);
CREATE INDEX calendar_span_event ON public.calendar_span USING btree (event_id);
CREATE INDEX calendar_span_list ON public.calendar_span USING btree (account_id, start_at, id);
CREATE INDEX calendar_span_long ON public.calendar_span USING btree (account_id, end_at) WHERE is_long;
CREATE INDEX calendar_span_root ON public.calendar_span USING btree (root_id);

create table calendar_taken (
  series_id uuid not null,
  account_id uuid not null,
  member text not null,
  provider_key text collate "C",
  version text,
  constraint calendar_taken_pkey PRIMARY KEY (series_id, member),
  constraint calendar_taken_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint calendar_taken_series_id_fkey FOREIGN KEY (series_id) REFERENCES calendar_event(id) ON DELETE CASCADE
);
CREATE INDEX calendar_taken_account ON public.calendar_taken USING btree (account_id);

create table changed_key (
  account_id uuid not null,
  source text not null,
  uid bigint,
  remote_id text collate "C",
  is_added boolean not null,
  is_removed boolean not null,
  mark uuid default gen_random_uuid() not null,
  constraint changed_key_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);
CREATE UNIQUE INDEX changed_key_key ON public.changed_key USING btree (account_id, source, uid, remote_id) NULLS NOT DISTINCT;

create table connect_attempt (
  id uuid not null,
  session_id uuid not null,
  showing uuid not null,
  provider text not null,
  cloud text,
  app_id uuid,
  scopes text[] not null,
  state_digest bytea not null,
  cookie_digest bytea not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  expires_at timestamp(3) with time zone not null,
  ended_at timestamp(3) with time zone,
  constraint connect_attempt_pkey PRIMARY KEY (id),
  constraint connect_attempt_session_id_fkey FOREIGN KEY (session_id) REFERENCES connect_session(id) ON DELETE CASCADE,
  constraint connect_attempt_session_id_showing_key UNIQUE (session_id, showing),
  constraint connect_attempt_state_digest_key UNIQUE (state_digest)
);

create table connect_session (
  id uuid not null,
  tenant_id uuid not null,
  kind text not null,
  digest bytea not null,
  providers text[] not null,
  password_imap boolean not null,
  microsoft_cloud text,
  app_ids json not null,
  redirect_uri text,
  return_state text,
  external_ref text,
  login_hint text,
  settings json not null,
  is_reconnect boolean not null,
  account_id uuid,
  email text,
  logins integer default 0 not null,
  searches integer default 0 not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  expires_at timestamp(3) with time zone not null,
  ended_at timestamp(3) with time zone,
  error text,
  wants_shared boolean default false not null,
  constraint connect_session_pkey PRIMARY KEY (id),
  constraint connect_session_check CHECK (((error IS NULL) OR (ended_at IS NOT NULL))),
  constraint connect_session_check1 CHECK (((NOT is_reconnect) OR (account_id IS NOT NULL))),
  constraint connect_session_digest_key UNIQUE (digest),
  constraint connect_session_kind_check CHECK ((kind = ANY (ARRAY['hosted'::text, 'headless'::text]))),
  constraint connect_session_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);
CREATE INDEX connect_session_account ON public.connect_session USING btree (account_id) WHERE (account_id IS NOT NULL);
CREATE INDEX connect_session_created ON public.connect_session USING btree (created_at);

create table contact (
  id uuid not null,
  tenant_id uuid not null,
  account_id uuid not null,
  folder_id uuid not null,
  provider_key text collate "C" not null,
  version text not null,
  uid text collate "C",
  display_name text,
  given_name text,
  middle_name text,
  family_name text,
  nickname text,
  organization text,
  job_title text,
  department text,
  emails jsonb not null,
  phones jsonb not null,
  birthday text,
  notes text,
  photo_state text not null,
  photo_version text,
  sort_name text collate "C" not null,
  search_text text collate "C" not null,
  missing_look bigint,
  updated_at timestamp(3) with time zone not null,
  constraint contact_pkey PRIMARY KEY (id),
  constraint contact_account_id_provider_key_key UNIQUE (account_id, provider_key),
  constraint contact_folder_id_fkey FOREIGN KEY (folder_id) REFERENCES contact_folder(id),
  constraint contact_photo_state_check CHECK ((photo_state = ANY (ARRAY['unknown'::text, 'none'::text, 'some'::text]))),
  constraint contact_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id)
);
CREATE INDEX contact_folder_list ON public.contact USING btree (folder_id, sort_name, id);
CREATE INDEX contact_list ON public.contact USING btree (account_id, sort_name, id);
CREATE INDEX contact_missing ON public.contact USING btree (account_id) WHERE (missing_look IS NOT NULL);
CREATE INDEX contact_search ON public.contact USING gin (account_id, search_text gin_trgm_ops);
CREATE INDEX contact_uid ON public.contact USING btree (account_id, uid) WHERE (uid IS NOT NULL);

create table contact_comparison (
  folder_id uuid not null,
  account_id uuid not null,
  due_at timestamp with time zone not null,
  due_set_at timestamp with time zone default now(),
  compared_at timestamp with time zone,
  listed integer default 0 not null,
  indexed integer default 0 not null,
  missing integer default 0 not null,
  extra integer default 0 not null,
  changed integer default 0 not null,
  repaired integer default 0 not null,
  stuck_hours integer default 0 not null,
  constraint contact_comparison_pkey PRIMARY KEY (folder_id),
  constraint contact_comparison_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint contact_comparison_folder_id_fkey FOREIGN KEY (folder_id) REFERENCES contact_folder(id) ON DELETE CASCADE
);
CREATE INDEX contact_comparison_account ON public.contact_comparison USING btree (account_id);
CREATE TRIGGER due_set BEFORE UPDATE OF due_at ON public.contact_comparison FOR EACH ROW WHEN (((new.due_at IS NOT NULL) AND (new.due_at IS DISTINCT FROM old.due_at))) EXECUTE FUNCTION note_set_moment('due');

create table contact_folder (
  id uuid not null,
  tenant_id uuid not null,
  account_id uuid not null,
  provider_key text collate "C" not null,
  name text not null,
  "position" integer not null,
  is_default boolean not null,
  is_read_only boolean not null,
  is_shown boolean not null,
  cursor jsonb,
  is_complete boolean default false not null,
  constraint contact_folder_pkey PRIMARY KEY (id),
  constraint contact_folder_account_id_provider_key_key UNIQUE (account_id, provider_key),
  constraint contact_folder_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id)
);

create table contact_home (
  account_id uuid not null,
  home text not null,
  constraint contact_home_pkey PRIMARY KEY (account_id),
  constraint contact_home_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

create table contact_mark (
  account_id uuid not null,
  provider_key text collate "C" not null,
  mark uuid default gen_random_uuid() not null,
  constraint contact_mark_pkey PRIMARY KEY (account_id, provider_key),
  constraint contact_mark_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

create table contact_photo (
  id uuid not null,
  tenant_id uuid not null,
  account_id uuid not null,
  contact_id uuid,
  version text not null,
  content_type text not null,
  bytes bigint default 0 not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint contact_photo_pkey PRIMARY KEY (id),
  constraint contact_photo_contact_id_fkey FOREIGN KEY (contact_id) REFERENCES contact(id) ON DELETE SET NULL,
  constraint contact_photo_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id)
);
CREATE INDEX contact_photo_account ON public.contact_photo USING btree (account_id);
CREATE UNIQUE INDEX contact_photo_contact ON public.contact_photo USING btree (contact_id) WHERE (contact_id IS NOT NULL);
CREATE INDEX contact_photo_unused ON public.contact_photo USING btree (created_at) WHERE (contact_id IS NULL);

create table draft_change (
  message_id uuid not null,
  generation integer not null,
  held_until timestamp with time zone,
  constraint draft_change_pkey PRIMARY KEY (message_id),
  constraint draft_change_message_id_fkey FOREIGN KEY (message_id) REFERENCES message(id) ON DELETE CASCADE
);

create table event (
  tenant_id uuid not null,
  id bigint not null,
  account_id uuid,
  type text not null,
  data json not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint event_pkey PRIMARY KEY (tenant_id, id)
) partition by RANGE (id);
CREATE INDEX event_created ON ONLY public.event USING btree (created_at);

create table event_follower (
  name text not null,
  tenant_id uuid not null,
  after_id bigint default 0 not null,
  failures integer default 0 not null,
  due_at timestamp with time zone,
  due_set_at timestamp with time zone default now(),
  constraint event_follower_pkey PRIMARY KEY (name, tenant_id),
  constraint event_follower_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
) with (fillfactor=50);
CREATE INDEX event_follower_tenant ON public.event_follower USING btree (tenant_id);
CREATE TRIGGER due_set BEFORE UPDATE OF due_at ON public.event_follower FOR EACH ROW WHEN (((new.due_at IS NOT NULL) AND (new.due_at IS DISTINCT FROM old.due_at))) EXECUTE FUNCTION note_set_moment('due');

create table feed_epoch (
  is_only boolean default true not null,
  epoch text default ''::text not null,
  place jsonb,
  standby text,
  noticed_epoch text,
  noticed_at timestamp with time zone,
  continues text[] default '{}'::text[] not null,
  constraint feed_epoch_pkey PRIMARY KEY (is_only),
  constraint feed_epoch_is_only_check CHECK (is_only)
);

create table gmail_watch (
  account_id uuid not null,
  topic text not null,
  begun_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone not null,
  renew_at timestamp with time zone not null,
  constraint gmail_watch_pkey PRIMARY KEY (account_id),
  constraint gmail_watch_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

create table grant_revocation (
  id uuid not null,
  tenant_id uuid not null,
  provider text not null,
  client_id text not null,
  subject text,
  email text not null,
  refresh_token bytea not null,
  expires_at timestamp with time zone not null,
  constraint grant_revocation_pkey PRIMARY KEY (id),
  constraint grant_revocation_provider_check CHECK ((provider = ANY (ARRAY['google'::text, 'microsoft'::text]))),
  constraint grant_revocation_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);
CREATE INDEX grant_revocation_expires ON public.grant_revocation USING btree (expires_at);

create unlogged table graph_slot (
  name text not null,
  number smallint not null,
  instance uuid,
  wanted_by uuid,
  wanted_until timestamp with time zone,
  paused_until timestamp with time zone,
  used_at timestamp with time zone default clock_timestamp() not null,
  constraint graph_slot_pkey PRIMARY KEY (name, number),
  constraint graph_slot_number_check CHECK (((number >= 1) AND (number <= 2)))
) with (fillfactor=50);

create table graph_subscription (
  account_id uuid not null,
  subscription_id text not null,
  nonce text not null,
  begun_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone not null,
  renew_at timestamp with time zone not null,
  event text,
  constraint graph_subscription_pkey PRIMARY KEY (account_id),
  constraint graph_subscription_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint graph_subscription_event_check CHECK ((event = ANY (ARRAY['reauthorize'::text, 'removed'::text, 'missed'::text])))
);

create table half_spread (
  kind text not null,
  provider text not null,
  after_id uuid,
  constraint half_spread_pkey PRIMARY KEY (kind, provider)
);

create table half_subscription (
  account_id uuid not null,
  kind text not null,
  subscription_id text not null,
  nonce text not null,
  begun_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone not null,
  renew_at timestamp with time zone not null,
  event text,
  constraint half_subscription_pkey PRIMARY KEY (account_id, kind),
  constraint half_subscription_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint half_subscription_event_check CHECK ((event = ANY (ARRAY['reauthorize'::text, 'removed'::text, 'missed'::text])))
);

create table idempotency_key (
  tenant_id uuid not null,
  key text not null,
  fingerprint bytea not null,
  scope text not null,
  account_id uuid,
  claim uuid not null,
  locked_until timestamp with time zone not null,
  status integer,
  answer bytea,
  expires_at timestamp with time zone not null,
  attempt uuid default gen_random_uuid() not null,
  has_failed boolean default false not null,
  about_account uuid,
  constraint idempotency_key_pkey PRIMARY KEY (tenant_id, key),
  constraint idempotency_key_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);
CREATE INDEX idempotency_key_expiry ON public.idempotency_key USING btree (expires_at);

create table identity (
  id uuid not null,
  tenant_id uuid not null,
  account_id uuid not null,
  address text not null,
  compared_address text not null,
  name text,
  signature jsonb,
  created_at timestamp with time zone default clock_timestamp() not null,
  source text default 'custom'::text not null,
  provider_signature jsonb,
  is_offered boolean default true not null,
  constraint identity_pkey PRIMARY KEY (id),
  constraint identity_account_id_compared_address_key UNIQUE (account_id, compared_address),
  constraint identity_source_check CHECK ((source = ANY (ARRAY['provider'::text, 'custom'::text]))),
  constraint identity_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id)
);

create table instance (
  id uuid not null,
  heartbeat_until timestamp with time zone not null,
  started_at timestamp with time zone default now() not null,
  roles text[] default '{sync}'::text[] not null,
  host text,
  version text,
  heartbeat_at timestamp with time zone,
  accounts integer,
  weight double precision,
  constraint instance_pkey PRIMARY KEY (id)
);

create table job (
  id uuid not null,
  tenant_id uuid not null,
  kind text not null,
  payload jsonb not null,
  due_at timestamp with time zone default clock_timestamp() not null,
  attempts integer default 0 not null,
  claimed_by uuid,
  due_set_at timestamp with time zone default now(),
  constraint job_pkey PRIMARY KEY (id),
  constraint job_claimed_by_fkey FOREIGN KEY (claimed_by) REFERENCES instance(id) ON DELETE SET NULL,
  constraint job_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);
CREATE INDEX job_claimed ON public.job USING btree (claimed_by) WHERE (claimed_by IS NOT NULL);
CREATE INDEX job_due ON public.job USING btree (due_at);
CREATE INDEX job_unclaimed ON public.job USING btree (tenant_id, kind) WHERE (claimed_by IS NULL);
CREATE TRIGGER due_set BEFORE UPDATE OF due_at ON public.job FOR EACH ROW WHEN (((new.due_at IS NOT NULL) AND (new.due_at IS DISTINCT FROM old.due_at))) EXECUTE FUNCTION note_set_moment('due');

create table left_subscription (
  id uuid not null,
  tenant_id uuid not null,
  cloud text not null,
  subscription_id text not null,
  access_token bytea not null,
  expires_at timestamp with time zone not null,
  resource_id text,
  constraint left_subscription_pkey PRIMARY KEY (id),
  constraint left_subscription_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);
CREATE INDEX left_subscription_expires ON public.left_subscription USING btree (expires_at);

create table mail_merge_pace (
  id uuid not null,
  account_id uuid not null,
  interval_seconds integer not null,
  due_at timestamp with time zone,
  due_set_at timestamp with time zone default now(),
  constraint mail_merge_pace_pkey PRIMARY KEY (id),
  constraint mail_merge_pace_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint mail_merge_pace_interval_seconds_check CHECK (((interval_seconds >= 1) AND (interval_seconds <= 3600)))
);
CREATE INDEX mail_merge_pace_due ON public.mail_merge_pace USING btree (account_id, due_at) WHERE (due_at IS NOT NULL);
CREATE TRIGGER due_set BEFORE UPDATE OF due_at ON public.mail_merge_pace FOR EACH ROW WHEN (((new.due_at IS NOT NULL) AND (new.due_at IS DISTINCT FROM old.due_at))) EXECUTE FUNCTION note_set_moment('due');

create table mail_settings (
  account_id uuid not null,
  tenant_id uuid not null,
  sign_by_default boolean default false not null,
  signature jsonb,
  provider_signature jsonb,
  identities_read_at timestamp with time zone,
  identities_asked_at timestamp with time zone,
  constraint mail_settings_pkey PRIMARY KEY (account_id),
  constraint mail_settings_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id)
);

create table mailbox (
  id uuid not null,
  tenant_id uuid not null,
  account_id uuid not null,
  provider_key text not null,
  provider_id text,
  name text not null,
  path text not null,
  parent_id uuid,
  role text not null,
  kind text not null,
  total_count integer,
  unread_count integer,
  source text,
  created_at timestamp with time zone default now() not null,
  is_deleted boolean default false not null,
  constraint mailbox_pkey PRIMARY KEY (id),
  constraint mailbox_account_id_provider_key_key UNIQUE (account_id, provider_key),
  constraint mailbox_kind_check CHECK ((kind = ANY (ARRAY['folder'::text, 'label'::text]))),
  constraint mailbox_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES mailbox(id) ON DELETE SET NULL,
  constraint mailbox_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id)
);
CREATE INDEX mailbox_deleted ON public.mailbox USING btree (account_id) WHERE is_deleted;
CREATE INDEX mailbox_inbox ON public.mailbox USING btree (provider_key) WHERE ((role = 'inbox'::text) AND (upper(provider_key) <> 'INBOX'::text));
CREATE INDEX mailbox_parent ON public.mailbox USING btree (parent_id);
CREATE INDEX mailbox_source ON public.mailbox USING btree (account_id, source) WHERE (source IS NOT NULL);

create table mailbox_comparison (
  mailbox_id uuid not null,
  account_id uuid not null,
  due_at timestamp with time zone not null,
  compared_at timestamp with time zone,
  listed integer default 0 not null,
  indexed integer default 0 not null,
  missing integer default 0 not null,
  extra integer default 0 not null,
  changed integer default 0 not null,
  repaired integer default 0 not null,
  stuck_hours integer default 0 not null,
  is_doubtful boolean default false not null,
  due_set_at timestamp with time zone default now(),
  constraint mailbox_comparison_pkey PRIMARY KEY (mailbox_id),
  constraint mailbox_comparison_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint mailbox_comparison_mailbox_id_fkey FOREIGN KEY (mailbox_id) REFERENCES mailbox(id) ON DELETE CASCADE
);
CREATE INDEX mailbox_comparison_account ON public.mailbox_comparison USING btree (account_id);
CREATE INDEX mailbox_comparison_unproven ON public.mailbox_comparison USING btree (account_id) WHERE (is_doubtful OR (compared_at IS NULL));
CREATE TRIGGER due_set BEFORE UPDATE OF due_at ON public.mailbox_comparison FOR EACH ROW WHEN (((new.due_at IS NOT NULL) AND (new.due_at IS DISTINCT FROM old.due_at))) EXECUTE FUNCTION note_set_moment('due');

create table message (
  id uuid not null,
  tenant_id uuid not null,
  account_id uuid not null,
  thread_id text,
  internet_message_id text, -- storage extended, statistics 0
  identity uuid not null,
  mailbox_ids uuid[] not null,
  subject text, -- storage extended, statistics 0
  "from" jsonb, -- storage extended, statistics 0
  "to" jsonb not null, -- storage extended, statistics 0
  cc jsonb not null, -- storage extended, statistics 0
  bcc jsonb not null, -- storage extended, statistics 0
  reply_to jsonb not null, -- storage extended, statistics 0
  sender_text text not null, -- storage extended, statistics 0
  recipients_text text not null, -- storage extended, statistics 0
  snippet text not null, -- storage extended, statistics 0
  received_at timestamp(3) with time zone not null,
  sent_at timestamp with time zone, -- storage plain, statistics 0
  is_read boolean not null,
  is_flagged boolean not null,
  is_draft boolean not null,
  has_attachments boolean not null,
  categories text[] not null, -- storage extended, statistics 0
  direction text not null,
  outbox_id uuid,
  reference text,
  importance text,
  size bigint,
  missing_look double precision,
  remote_id text collate "C",
  draft_id text,
  draft_generation integer,
  content_version integer default 0 not null,
  kept_until timestamp with time zone,
  answered_outbox_id uuid,
  classification jsonb,
  may_be_report boolean,
  draft_key text collate "C",
  draft_revision text,
  draft_digest text,
  may_be_invitation boolean,
  constraint message_pkey PRIMARY KEY (id),
  constraint message_direction_check CHECK ((direction = ANY (ARRAY['inbound'::text, 'outbound'::text]))),
  constraint message_importance_check CHECK ((importance = ANY (ARRAY['high'::text, 'normal'::text, 'low'::text]))),
  constraint message_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id)
);
CREATE INDEX message_draft ON public.message USING btree (account_id, draft_id) WHERE (draft_id IS NOT NULL);
CREATE INDEX message_draft_key ON public.message USING btree (account_id, draft_key) WHERE (draft_key IS NOT NULL);
CREATE INDEX message_identity ON public.message USING btree (account_id, identity);
CREATE INDEX message_list ON public.message USING btree (account_id, received_at DESC, id DESC);
CREATE INDEX message_missing ON public.message USING btree (account_id) WHERE (missing_look IS NOT NULL);
CREATE INDEX message_outbox ON public.message USING btree (outbox_id) WHERE (outbox_id IS NOT NULL);
CREATE UNIQUE INDEX message_remote ON public.message USING btree (account_id, remote_id) WHERE (remote_id IS NOT NULL);
CREATE INDEX message_thread ON public.message USING btree (account_id, thread_id, received_at DESC, id DESC);

create table message_blob (
  id uuid not null,
  tenant_id uuid not null,
  account_id uuid not null,
  message_id uuid,
  bytes bigint default 0 not null,
  created_at timestamp with time zone default now() not null,
  is_indexed boolean default false not null,
  constraint message_blob_pkey PRIMARY KEY (id),
  constraint message_blob_message_id_fkey FOREIGN KEY (message_id) REFERENCES message(id) ON DELETE SET NULL,
  constraint message_blob_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id)
);
CREATE INDEX message_blob_account ON public.message_blob USING btree (account_id);
CREATE UNIQUE INDEX message_blob_message ON public.message_blob USING btree (message_id) WHERE (message_id IS NOT NULL);
CREATE INDEX message_blob_unindexed ON public.message_blob USING btree (id) WHERE ((message_id IS NOT NULL) AND (NOT is_indexed));
CREATE INDEX message_blob_unused ON public.message_blob USING btree (created_at) WHERE (message_id IS NULL);

create table message_copy (
  message_id uuid not null,
  number integer not null,
  sealed bytea not null,
  constraint message_copy_pkey PRIMARY KEY (message_id, number),
  constraint message_copy_message_id_fkey FOREIGN KEY (message_id) REFERENCES message(id) ON DELETE CASCADE
);

create table message_mailbox (
  mailbox_id uuid not null,
  received_at timestamp(3) with time zone not null,
  message_id uuid not null,
  uid bigint,
  constraint message_mailbox_pkey PRIMARY KEY (mailbox_id, received_at, message_id),
  constraint message_mailbox_mailbox_id_fkey FOREIGN KEY (mailbox_id) REFERENCES mailbox(id) ON DELETE CASCADE,
  constraint message_mailbox_message_id_fkey FOREIGN KEY (message_id) REFERENCES message(id) ON DELETE CASCADE
);
CREATE INDEX message_mailbox_message ON public.message_mailbox USING btree (message_id);
CREATE UNIQUE INDEX message_mailbox_uid ON public.message_mailbox USING btree (mailbox_id, uid) WHERE (uid IS NOT NULL);

create table message_search (
  message_id uuid not null,
  account_id uuid not null,
  received_at timestamp(3) with time zone not null,
  document tsvector not null, -- storage external, statistics default
  version smallint default 0 not null,
  constraint message_search_pkey PRIMARY KEY (message_id),
  constraint message_search_message_id_fkey FOREIGN KEY (message_id) REFERENCES message(id) ON DELETE CASCADE
) with (toast_tuple_target=128);
CREATE INDEX message_search_document ON public.message_search USING gin (account_id, document);

create table oauth_app (
  id uuid not null,
  tenant_id uuid not null,
  provider text not null,
  cloud text,
  name text not null,
  client_id text not null,
  credential_type text not null,
  secret bytea not null,
  scopes text[],
  push_topic text,
  push_subscription text,
  push_service_account text,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  updated_at timestamp(3) with time zone default clock_timestamp() not null,
  certificate text,
  constraint oauth_app_pkey PRIMARY KEY (id),
  constraint oauth_app_check CHECK (((cloud IS NOT NULL) = (provider = 'microsoft'::text))),
  constraint oauth_app_check1 CHECK ((num_nonnulls(push_topic, push_subscription, push_service_account) = ANY (ARRAY[0, 3]))),
  constraint oauth_app_credential_type_check CHECK ((credential_type = ANY (ARRAY['secret'::text, 'certificate'::text]))),
  constraint oauth_app_provider_check CHECK ((provider = ANY (ARRAY['google'::text, 'microsoft'::text]))),
  constraint oauth_app_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);
CREATE INDEX oauth_app_list ON public.oauth_app USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX oauth_app_push ON public.oauth_app USING btree (push_subscription) WHERE (push_subscription IS NOT NULL);

create table oauth_grant (
  account_id uuid not null,
  id uuid not null,
  provider text not null,
  client_id text not null,
  scopes text[] not null,
  version bigint default 0 not null,
  refresh_token bytea not null,
  previous_refresh_token bytea,
  previous_until timestamp with time zone,
  access_token bytea not null,
  issued_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  refresh_at timestamp with time zone not null,
  refreshing_by uuid,
  refreshing_until timestamp with time zone,
  failures integer default 0 not null,
  failure text,
  failure_reason text,
  retry_at timestamp with time zone,
  refused_at timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  retry_set_at timestamp with time zone default now(),
  spread_after uuid,
  constraint oauth_grant_pkey PRIMARY KEY (account_id),
  constraint oauth_grant_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint oauth_grant_check CHECK (((previous_refresh_token IS NULL) = (previous_until IS NULL))),
  constraint oauth_grant_id_key UNIQUE (id),
  constraint oauth_grant_provider_check CHECK ((provider = ANY (ARRAY['google'::text, 'microsoft'::text])))
);
CREATE INDEX oauth_grant_previous ON public.oauth_grant USING btree (previous_until) WHERE (previous_until IS NOT NULL);
CREATE INDEX oauth_grant_spread ON public.oauth_grant USING btree (account_id) WHERE (spread_after IS NOT NULL);
CREATE TRIGGER retry_set BEFORE UPDATE OF retry_at ON public.oauth_grant FOR EACH ROW WHEN (((new.retry_at IS NOT NULL) AND (new.retry_at IS DISTINCT FROM old.retry_at))) EXECUTE FUNCTION note_set_moment('retry');

create table outbox (
  id uuid not null,
  tenant_id uuid not null,
  account_id uuid not null,
  status text default 'queued'::text not null,
  "from" jsonb not null,
  "to" jsonb not null,
  cc jsonb not null,
  bcc jsonb not null,
  reply_to jsonb not null,
  subject text,
  snippet text not null,
  has_attachments boolean not null,
  size bigint not null,
  importance text,
  in_reply_to uuid,
  forward_of uuid,
  draft_id uuid,
  reference text,
  thread_id text,
  internet_message_id text not null,
  waiting text[] not null,
  rejected jsonb default '[]'::jsonb not null,
  send_at timestamp with time zone not null,
  due_at timestamp with time zone,
  attempts integer default 0 not null,
  error_reason text,
  error_message text,
  dated_at timestamp with time zone,
  phase text,
  claim uuid,
  claimed_by uuid,
  handed_over_at timestamp with time zone,
  trace text,
  task text,
  task_at timestamp with time zone,
  task_tries integer default 0 not null,
  task_by uuid,
  copy_searches integer default 0 not null,
  copy_filed_at timestamp with time zone,
  filed_copy jsonb,
  sent_at timestamp with time zone,
  ended_at timestamp with time zone,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  draft_version integer,
  template_id uuid,
  list_id text,
  mail_merge_id uuid,
  track_opens boolean default false not null,
  track_clicks boolean default false not null,
  is_paced boolean default false not null,
  losses integer default 0 not null,
  sent_key text,
  was_absent boolean default false not null,
  held_since timestamp with time zone,
  due_set_at timestamp with time zone default now(),
  task_set_at timestamp with time zone default now(),
  is_scheduled boolean default true not null,
  may_be_prepared boolean default false not null,
  origin text default 'send'::text not null,
  event_id uuid,
  constraint outbox_pkey PRIMARY KEY (id),
  constraint outbox_claimed_by_fkey FOREIGN KEY (claimed_by) REFERENCES instance(id) ON DELETE SET NULL,
  constraint outbox_event_check CHECK (((origin = 'invitation'::text) = (event_id IS NOT NULL))),
  constraint outbox_importance_check CHECK ((importance = ANY (ARRAY['high'::text, 'normal'::text, 'low'::text]))),
  constraint outbox_origin_check CHECK ((origin = ANY (ARRAY['send'::text, 'invitation'::text]))),
  constraint outbox_phase_check CHECK ((phase = ANY (ARRAY['pre'::text, 'handed_over'::text, 'unknown'::text]))),
  constraint outbox_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'sending'::text, 'sent'::text, 'failed'::text, 'cancelled'::text]))),
  constraint outbox_task_by_fkey FOREIGN KEY (task_by) REFERENCES instance(id) ON DELETE SET NULL,
  constraint outbox_task_check CHECK ((task = ANY (ARRAY['look_up'::text, 'file_copy'::text, 'link_copy'::text, 'mark_original'::text, 'discard'::text]))),
  constraint outbox_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id)
);
CREATE INDEX outbox_claimed ON public.outbox USING btree (account_id) WHERE (phase IS NOT NULL);
CREATE INDEX outbox_claimed_by ON public.outbox USING btree (claimed_by) WHERE (claimed_by IS NOT NULL);
CREATE INDEX outbox_draft ON public.outbox USING btree (draft_id) WHERE (status = ANY (ARRAY['queued'::text, 'sending'::text]));
CREATE INDEX outbox_due ON public.outbox USING btree (account_id, due_at, id) WHERE ((due_at IS NOT NULL) AND (mail_merge_id IS NULL));
CREATE INDEX outbox_ended ON public.outbox USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX outbox_filed ON public.outbox USING btree (copy_filed_at) WHERE (filed_copy IS NOT NULL);
CREATE INDEX outbox_held ON public.outbox USING btree (tenant_id, account_id) WHERE (held_since IS NOT NULL);
CREATE INDEX outbox_list ON public.outbox USING btree (account_id, created_at DESC, id DESC);
CREATE INDEX outbox_losses ON public.outbox USING btree (losses) WHERE ((due_at IS NOT NULL) AND (losses > 0));
CREATE INDEX outbox_merge ON public.outbox USING btree (mail_merge_id, due_at, id) WHERE (mail_merge_id IS NOT NULL);
CREATE INDEX outbox_merge_due ON public.outbox USING btree (account_id, due_at, id) WHERE ((due_at IS NOT NULL) AND (mail_merge_id IS NOT NULL) AND (NOT is_paced));
CREATE INDEX outbox_reference ON public.outbox USING btree (account_id, reference, created_at DESC, id DESC) WHERE (reference IS NOT NULL);
CREATE INDEX outbox_task ON public.outbox USING btree (task_at) WHERE (task IS NOT NULL);
CREATE INDEX outbox_task_account ON public.outbox USING btree (account_id, task_at) WHERE (task IS NOT NULL);
CREATE INDEX outbox_task_by ON public.outbox USING btree (task_by) WHERE (task_by IS NOT NULL);
CREATE INDEX outbox_unknown ON public.outbox USING btree (ended_at) WHERE ((status = 'failed'::text) AND (error_reason = 'outcome_unknown'::text));
CREATE INDEX outbox_unsent ON public.outbox USING btree (account_id, created_at DESC, id DESC) WHERE (status <> 'sent'::text);
CREATE INDEX outbox_waiting ON public.outbox USING btree (send_at) WHERE (due_at IS NOT NULL);
CREATE TRIGGER due_set BEFORE UPDATE OF due_at ON public.outbox FOR EACH ROW WHEN (((new.due_at IS NOT NULL) AND (new.due_at IS DISTINCT FROM old.due_at))) EXECUTE FUNCTION note_set_moment('due');
CREATE TRIGGER task_set BEFORE UPDATE OF task_at ON public.outbox FOR EACH ROW WHEN (((new.task_at IS NOT NULL) AND (new.task_at IS DISTINCT FROM old.task_at))) EXECUTE FUNCTION note_set_moment('task');

create table outbox_content (
  id uuid not null,
  account_id uuid not null,
  outbox_id uuid,
  layout jsonb not null,
  bytes bigint not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  tail_id uuid,
  constraint outbox_content_pkey PRIMARY KEY (id),
  constraint outbox_content_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint outbox_content_outbox_id_fkey FOREIGN KEY (outbox_id) REFERENCES outbox(id) ON DELETE CASCADE
);
CREATE INDEX outbox_content_account ON public.outbox_content USING btree (account_id);
CREATE UNIQUE INDEX outbox_content_outbox ON public.outbox_content USING btree (outbox_id) WHERE (outbox_id IS NOT NULL);
CREATE INDEX outbox_content_tail ON public.outbox_content USING btree (tail_id) WHERE (tail_id IS NOT NULL);
CREATE INDEX outbox_content_unused ON public.outbox_content USING btree (created_at) WHERE (outbox_id IS NULL);

create table outbox_piece (
  content_id uuid not null,
  number integer not null,
  sealed bytea not null, -- storage external, statistics default
  constraint outbox_piece_pkey PRIMARY KEY (content_id, number),
  constraint outbox_piece_content_id_fkey FOREIGN KEY (content_id) REFERENCES outbox_content(id) ON DELETE CASCADE
);

create table pending_answer (
  message_id uuid not null,
  tenant_id uuid not null,
  account_id uuid not null,
  due_at timestamp with time zone default clock_timestamp() not null,
  attempts integer default 0 not null,
  claimed_by uuid,
  created_at timestamp with time zone default clock_timestamp() not null,
  due_set_at timestamp with time zone default now(),
  constraint pending_answer_pkey PRIMARY KEY (message_id),
  constraint pending_answer_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint pending_answer_claimed_by_fkey FOREIGN KEY (claimed_by) REFERENCES instance(id) ON DELETE SET NULL,
  constraint pending_answer_message_id_fkey FOREIGN KEY (message_id) REFERENCES message(id) ON DELETE CASCADE,
  constraint pending_answer_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);
CREATE INDEX pending_answer_claimed ON public.pending_answer USING btree (claimed_by) WHERE (claimed_by IS NOT NULL);
CREATE INDEX pending_answer_due ON public.pending_answer USING btree (account_id, due_at);
CREATE INDEX pending_answer_due_at ON public.pending_answer USING btree (due_at);
CREATE TRIGGER due_set BEFORE UPDATE OF due_at ON public.pending_answer FOR EACH ROW WHEN (((new.due_at IS NOT NULL) AND (new.due_at IS DISTINCT FROM old.due_at))) EXECUTE FUNCTION note_set_moment('due');

create table pending_invitation (
  message_id uuid not null,
  tenant_id uuid not null,
  account_id uuid not null,
  due_at timestamp with time zone default clock_timestamp() not null,
  due_set_at timestamp with time zone default now(),
  attempts integer default 0 not null,
  claimed_by uuid,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint pending_invitation_pkey PRIMARY KEY (message_id),
  constraint pending_invitation_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint pending_invitation_claimed_by_fkey FOREIGN KEY (claimed_by) REFERENCES instance(id) ON DELETE SET NULL,
  constraint pending_invitation_message_id_fkey FOREIGN KEY (message_id) REFERENCES message(id) ON DELETE CASCADE,
  constraint pending_invitation_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);
CREATE INDEX pending_invitation_claimed ON public.pending_invitation USING btree (claimed_by) WHERE (claimed_by IS NOT NULL);
CREATE INDEX pending_invitation_due ON public.pending_invitation USING btree (account_id, due_at);
CREATE INDEX pending_invitation_due_at ON public.pending_invitation USING btree (due_at);
CREATE TRIGGER due_set BEFORE UPDATE OF due_at ON public.pending_invitation FOR EACH ROW WHEN (((new.due_at IS NOT NULL) AND (new.due_at IS DISTINCT FROM old.due_at))) EXECUTE FUNCTION note_set_moment('due');

create table plan (
  id uuid not null,
  name text not null,
  api_calls_per_minute integer,
  api_calls_per_minute_per_key integer,
  max_accounts integer,
  body_storage_allowed boolean not null,
  storage_bytes bigint,
  created_at timestamp with time zone default now() not null,
  sends_per_day integer,
  modules text[],
  webhook_endpoints integer,
  constraint plan_pkey PRIMARY KEY (id),
  constraint plan_api_calls_per_minute_check CHECK ((api_calls_per_minute > 0)),
  constraint plan_api_calls_per_minute_per_key_check CHECK ((api_calls_per_minute_per_key > 0)),
  constraint plan_max_accounts_check CHECK ((max_accounts >= 0)),
  constraint plan_name_key UNIQUE (name),
  constraint plan_sends_per_day_check CHECK ((sends_per_day >= 0)),
  constraint plan_storage_bytes_check CHECK ((storage_bytes >= 0)),
  constraint plan_webhook_endpoints_check CHECK ((webhook_endpoints >= 0))
);

create table quarantined_calendar_event (
  calendar_id uuid not null,
  account_id uuid not null,
  provider_key text collate "C" not null,
  version text,
  reason text not null,
  reader_version smallint not null,
  next_attempt_at timestamp with time zone not null,
  constraint quarantined_calendar_event_pkey PRIMARY KEY (calendar_id, provider_key),
  constraint quarantined_calendar_event_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint quarantined_calendar_event_calendar_id_fkey FOREIGN KEY (calendar_id) REFERENCES calendar(id) ON DELETE CASCADE
);
CREATE INDEX quarantined_calendar_event_account ON public.quarantined_calendar_event USING btree (account_id);

create table quarantined_contact (
  account_id uuid not null,
  folder_id uuid not null,
  provider_key text collate "C" not null,
  version text,
  reason text not null,
  reader_version smallint not null,
  next_attempt_at timestamp with time zone not null,
  constraint quarantined_contact_pkey PRIMARY KEY (account_id, provider_key),
  constraint quarantined_contact_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint quarantined_contact_folder_id_fkey FOREIGN KEY (folder_id) REFERENCES contact_folder(id) ON DELETE CASCADE
);
CREATE INDEX quarantined_contact_folder ON public.quarantined_contact USING btree (folder_id);

create table quarantined_message (
  account_id uuid not null,
  uid bigint,
  reason text not null,
  attempts integer not null,
  parser_version integer not null,
  first_failed_at timestamp with time zone default now() not null,
  next_attempt_at timestamp with time zone not null,
  source text not null,
  remote_id text collate "C",
  attempt_set_at timestamp with time zone default now(),
  constraint quarantined_message_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);
CREATE UNIQUE INDEX quarantined_message_key ON public.quarantined_message USING btree (account_id, source, uid, remote_id) NULLS NOT DISTINCT;
CREATE TRIGGER attempt_set BEFORE UPDATE OF next_attempt_at ON public.quarantined_message FOR EACH ROW WHEN (((new.next_attempt_at IS NOT NULL) AND (new.next_attempt_at IS DISTINCT FROM old.next_attempt_at))) EXECUTE FUNCTION note_set_moment('attempt');

create unlogged table quota_use (
  name text not null,
  seconds bigint[] default '{}'::bigint[] not null,
  units bigint[] default '{}'::bigint[] not null,
  constraint quota_use_pkey PRIMARY KEY (name)
) with (fillfactor=50);

create unlogged table rate_window (
  name text not null,
  number bigint not null,
  count integer not null,
  constraint rate_window_pkey PRIMARY KEY (name)
) with (fillfactor=50);

create table recurring_task (
  name text not null,
  due_at timestamp with time zone not null,
  claimed_by uuid,
  constraint recurring_task_pkey PRIMARY KEY (name),
  constraint recurring_task_claimed_by_fkey FOREIGN KEY (claimed_by) REFERENCES instance(id) ON DELETE SET NULL
);

create table schema_migration (
  version integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone default now() not null,
  serves integer,
  release text,
  is_finished boolean default true not null,
  constraint schema_migration_pkey PRIMARY KEY (version)
);

create table sealed_value (
  name text not null,
  sealed bytea not null,
  constraint sealed_value_pkey PRIMARY KEY (name)
);

create table sending_account (
  account_id uuid not null,
  tenant_id uuid not null,
  due_at timestamp with time zone,
  paused_until timestamp with time zone,
  pauses integer default 0 not null,
  troubled_since timestamp with time zone,
  pause_reason text,
  pause_message text,
  served_at timestamp with time zone default '-infinity'::timestamp with time zone not null,
  files_copies boolean default false not null,
  message_bytes_max bigint,
  due_set_at timestamp with time zone default now(),
  pause_set_at timestamp with time zone default now(),
  constraint sending_account_pkey PRIMARY KEY (account_id),
  constraint sending_account_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  constraint sending_account_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);
CREATE INDEX sending_account_due ON public.sending_account USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE TRIGGER due_set BEFORE UPDATE OF due_at ON public.sending_account FOR EACH ROW WHEN (((new.due_at IS NOT NULL) AND (new.due_at IS DISTINCT FROM old.due_at))) EXECUTE FUNCTION note_set_moment('due');
CREATE TRIGGER pause_set BEFORE UPDATE OF paused_until ON public.sending_account FOR EACH ROW WHEN (((new.paused_until IS NOT NULL) AND (new.paused_until IS DISTINCT FROM old.paused_until))) EXECUTE FUNCTION note_set_moment('pause');

create table sending_epoch (
  is_only boolean default true not null,
  epoch text not null,
  constraint sending_epoch_pkey PRIMARY KEY (is_only),
  constraint sending_epoch_is_only_check CHECK (is_only)
);

create table sent_message (
  account_id uuid not null,
  internet_message_id text collate "C" not null,
  outbox_id uuid not null,
  reference text,
  list_id text,
  remote_id text collate "C",
  constraint sent_message_pkey PRIMARY KEY (account_id, internet_message_id),
  constraint sent_message_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);
CREATE INDEX sent_message_remote ON public.sent_message USING btree (account_id, remote_id) WHERE (remote_id IS NOT NULL);

create table settings_announcement (
  id uuid not null,
  tenant_id uuid not null,
  before jsonb not null,
  after_id uuid not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint settings_announcement_pkey PRIMARY KEY (id),
  constraint settings_announcement_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);

create table suppression_entry (
  list_key uuid not null,
  address text collate "C" not null,
  id uuid not null,
  source text not null,
  reason text not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint suppression_entry_pkey PRIMARY KEY (list_key, address),
  constraint suppression_entry_list_key_fkey FOREIGN KEY (list_key) REFERENCES suppression_list(key),
  constraint suppression_entry_source_check CHECK ((source = ANY (ARRAY['unsubscribe'::text, 'bounce'::text, 'api'::text, 'reply'::text, 'complaint'::text, 'inactive'::text])))
);
CREATE INDEX suppression_entry_list ON public.suppression_entry USING btree (list_key, created_at DESC, id DESC);

create table suppression_list (
  key uuid not null,
  tenant_id uuid not null,
  id text collate "C" not null,
  name text not null,
  description text,
  unsubscribe integer default 0 not null,
  bounce integer default 0 not null,
  api integer default 0 not null,
  reply integer default 0 not null,
  complaint integer default 0 not null,
  inactive integer default 0 not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  deleted_at timestamp with time zone,
  constraint suppression_list_pkey PRIMARY KEY (key),
  constraint suppression_list_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);
CREATE INDEX suppression_list_deleted ON public.suppression_list USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE UNIQUE INDEX suppression_list_id ON public.suppression_list USING btree (tenant_id, id) WHERE (deleted_at IS NULL);

create table suppression_review (
  id uuid not null,
  tenant_id uuid not null,
  list_id text collate "C" not null,
  address text collate "C" not null,
  source text not null,
  account_id uuid not null,
  message_id uuid not null,
  outbox_id uuid,
  probability double precision not null,
  alternate_contacts text[] not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint suppression_review_pkey PRIMARY KEY (id),
  constraint suppression_review_source_check CHECK ((source = ANY (ARRAY['reply'::text, 'inactive'::text]))),
  constraint suppression_review_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id),
  constraint suppression_review_tenant_id_list_id_address_key UNIQUE (tenant_id, list_id, address)
);
CREATE INDEX suppression_review_account ON public.suppression_review USING btree (account_id);
CREATE INDEX suppression_review_list ON public.suppression_review USING btree (tenant_id, created_at DESC, id DESC);

create table sync_cursor (
  account_id uuid not null,
  source text not null,
  cursor jsonb not null,
  suspected_at timestamp with time zone,
  constraint sync_cursor_pkey PRIMARY KEY (account_id, source),
  constraint sync_cursor_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);
CREATE INDEX sync_cursor_suspected ON public.sync_cursor USING btree (account_id) WHERE (suspected_at IS NOT NULL);

create table template (
  id uuid not null,
  tenant_id uuid not null,
  account_id uuid,
  name text not null,
  description text,
  source text not null,
  external_ref text,
  subject text,
  html text,
  text text,
  preview_text text,
  format text not null,
  created_at timestamp with time zone default date_trunc('milliseconds'::text, clock_timestamp()) not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  constraint template_pkey PRIMARY KEY (id),
  constraint template_tenant_id_account_id_fkey FOREIGN KEY (tenant_id, account_id) REFERENCES account(tenant_id, id),
  constraint template_tenant_id_account_id_name_key UNIQUE NULLS NOT DISTINCT (tenant_id, account_id, name),
  constraint template_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);
CREATE INDEX template_account ON public.template USING btree (account_id);
CREATE INDEX template_newest ON public.template USING btree (tenant_id, created_at DESC, id DESC);

create table tenant (
  id uuid not null,
  name text not null,
  settings jsonb not null,
  suspended_at timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  plan_id uuid,
  past_due_at timestamp with time zone,
  links_off_at timestamp with time zone,
  resumed_at timestamp with time zone,
  constraint tenant_pkey PRIMARY KEY (id),
  constraint tenant_name_key UNIQUE (name),
  constraint tenant_plan_id_fkey FOREIGN KEY (plan_id) REFERENCES plan(id)
);
CREATE INDEX tenant_suspended ON public.tenant USING btree (id) WHERE (suspended_at IS NOT NULL);

create table tenant_sends (
  tenant_id uuid not null,
  day date not null,
  count integer not null,
  constraint tenant_sends_pkey PRIMARY KEY (tenant_id, day),
  constraint tenant_sends_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
) with (fillfactor=50);

create table tenant_storage (
  tenant_id uuid not null,
  bytes bigint not null,
  constraint tenant_storage_pkey PRIMARY KEY (tenant_id),
  constraint tenant_storage_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
) with (fillfactor=20);

create table thread_link (
  account_id uuid not null,
  reference uuid not null,
  thread_id uuid not null,
  constraint thread_link_pkey PRIMARY KEY (account_id, reference),
  constraint thread_link_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);
CREATE INDEX thread_link_thread ON public.thread_link USING btree (account_id, thread_id);

create table tracked_send (
  outbox_id uuid not null,
  account_id uuid not null,
  links bytea,
  items integer default 0 not null,
  opens integer default 0 not null,
  machine_opens integer default 0 not null,
  first_opened_at timestamp with time zone,
  last_opened_at timestamp with time zone,
  clicks integer default 0 not null,
  machine_clicks integer default 0 not null,
  first_clicked_at timestamp with time zone,
  last_clicked_at timestamp with time zone,
  link_clicks jsonb default '{}'::jsonb not null,
  judge_failures integer default 0 not null,
  judge_due_at timestamp with time zone,
  judge_set_at timestamp with time zone default now(),
  constraint tracked_send_pkey PRIMARY KEY (outbox_id),
  constraint tracked_send_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);
CREATE INDEX tracked_send_account ON public.tracked_send USING btree (account_id);
CREATE INDEX tracked_send_judge_due ON public.tracked_send USING btree (judge_due_at) WHERE (judge_due_at IS NOT NULL);
CREATE TRIGGER judge_set BEFORE UPDATE OF judge_due_at ON public.tracked_send FOR EACH ROW WHEN (((new.judge_due_at IS NOT NULL) AND (new.judge_due_at IS DISTINCT FROM old.judge_due_at))) EXECUTE FUNCTION note_set_moment('judge');

create table tracking_item (
  id uuid not null,
  outbox_id uuid not null,
  account_id uuid not null,
  tenant_id uuid not null,
  kind text not null,
  link integer,
  client bytea not null,
  sign text,
  ip text,
  user_agent text,
  occurred_at timestamp with time zone not null,
  is_machine boolean,
  machine_reason text,
  constraint tracking_item_pkey PRIMARY KEY (id),
  constraint tracking_item_kind_check CHECK ((kind = ANY (ARRAY['open'::text, 'click'::text, 'honeypot'::text]))),
  constraint tracking_item_machine_reason_check CHECK ((machine_reason = ANY (ARRAY['prefetch'::text, 'scanner'::text, 'honeypot'::text, 'burst'::text]))),
  constraint tracking_item_outbox_id_fkey FOREIGN KEY (outbox_id) REFERENCES tracked_send(outbox_id) ON DELETE CASCADE,
  constraint tracking_item_sign_check CHECK ((sign = ANY (ARRAY['prefetch'::text, 'scanner'::text])))
);
CREATE INDEX tracking_item_account ON public.tracking_item USING btree (account_id);
CREATE INDEX tracking_item_send ON public.tracking_item USING btree (outbox_id, occurred_at DESC, id DESC);
CREATE INDEX tracking_item_unjudged ON public.tracking_item USING btree (occurred_at) WHERE (is_machine IS NULL);

create table usage_count (
  tenant_id uuid not null,
  day date not null,
  what text not null,
  count integer not null,
  constraint usage_count_count_check CHECK ((count > 0)),
  constraint usage_count_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id),
  constraint usage_count_what_check CHECK ((what = ANY (ARRAY['read'::text, 'write'::text, 'send'::text, 'admin'::text, 'sends'::text, 'webhook_deliveries'::text, 'ai_calls'::text])))
);
CREATE INDEX usage_count_day ON public.usage_count USING btree (tenant_id, day);

create table usage_day (
  tenant_id uuid not null,
  day date not null,
  live_accounts integer default 0 not null,
  read bigint default 0 not null,
  write bigint default 0 not null,
  send bigint default 0 not null,
  admin bigint default 0 not null,
  sends bigint default 0 not null,
  webhook_deliveries bigint default 0 not null,
  ai_calls bigint default 0 not null,
  stored_bytes bigint,
  constraint usage_day_pkey PRIMARY KEY (tenant_id, day),
  constraint usage_day_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
) with (fillfactor=70);
CREATE INDEX usage_day_day ON public.usage_day USING btree (day);

create table webhook_attempt (
  endpoint_id uuid not null,
  id uuid not null,
  tenant_id uuid not null,
  event_id bigint not null,
  event_type text not null,
  account_id uuid,
  attempt integer not null,
  status_code smallint,
  error text,
  response_excerpt text,
  duration_ms integer not null,
  is_replay boolean not null,
  is_test boolean not null,
  occurred_at timestamp(3) with time zone not null,
  constraint webhook_attempt_pkey PRIMARY KEY (endpoint_id, id),
  constraint webhook_attempt_check CHECK (((status_code IS NULL) = (error IS NOT NULL)))
);

create table webhook_delivery (
  endpoint_id uuid not null,
  event_id bigint not null,
  tenant_id uuid not null,
  account_id uuid,
  priority smallint not null,
  queued_at timestamp with time zone default clock_timestamp() not null,
  due_at timestamp with time zone default clock_timestamp(),
  held_until timestamp with time zone,
  held_at timestamp with time zone,
  attempts integer default 0 not null,
  tries smallint default 0 not null,
  replays integer default 0 not null,
  test_type text,
  test_body text,
  due_set_at timestamp with time zone default now(),
  constraint webhook_delivery_pkey PRIMARY KEY (endpoint_id, event_id),
  constraint webhook_delivery_check CHECK (((priority = 0) = (test_body IS NOT NULL))),
  constraint webhook_delivery_check1 CHECK (((test_type IS NULL) = (test_body IS NULL)))
) with (fillfactor=85, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=10000);
CREATE INDEX webhook_delivery_due ON public.webhook_delivery USING btree (endpoint_id, priority, due_at, event_id) WHERE (due_at IS NOT NULL);
CREATE TRIGGER due_set BEFORE UPDATE OF due_at ON public.webhook_delivery FOR EACH ROW WHEN (((new.due_at IS NOT NULL) AND (new.due_at IS DISTINCT FROM old.due_at))) EXECUTE FUNCTION note_set_moment('due');

create table webhook_dispatch (
  endpoint_id uuid not null,
  tenant_id uuid not null,
  due_at timestamp with time zone,
  served_at timestamp with time zone default '-infinity'::timestamp with time zone not null,
  owner uuid,
  in_flight_max smallint default 8 not null,
  acknowledged smallint default 0 not null,
  failures integer default 0 not null,
  probes smallint default 0 not null,
  probe_at timestamp with time zone,
  probed_event_id bigint default 0 not null,
  paused_until timestamp with time zone,
  failed_attempts integer default 0 not null,
  failed_event_ids bigint[] default '{}'::bigint[] not null,
  is_releasing boolean default false not null,
  holds_cleared_at timestamp with time zone,
  give_up_before timestamp with time zone,
  due_set_at timestamp with time zone default now(),
  probe_set_at timestamp with time zone default now(),
  pause_set_at timestamp with time zone default now(),
  constraint webhook_dispatch_pkey PRIMARY KEY (endpoint_id),
  constraint webhook_dispatch_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
) with (fillfactor=50);
CREATE INDEX webhook_dispatch_due ON public.webhook_dispatch USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX webhook_dispatch_giving_up ON public.webhook_dispatch USING btree (endpoint_id) WHERE (give_up_before IS NOT NULL);
CREATE INDEX webhook_dispatch_owner ON public.webhook_dispatch USING btree (owner) WHERE (owner IS NOT NULL);
CREATE INDEX webhook_dispatch_tenant ON public.webhook_dispatch USING btree (tenant_id);
CREATE TRIGGER due_set BEFORE UPDATE OF due_at ON public.webhook_dispatch FOR EACH ROW WHEN (((new.due_at IS NOT NULL) AND (new.due_at IS DISTINCT FROM old.due_at))) EXECUTE FUNCTION note_set_moment('due');
CREATE TRIGGER pause_set BEFORE UPDATE OF paused_until ON public.webhook_dispatch FOR EACH ROW WHEN (((new.paused_until IS NOT NULL) AND (new.paused_until IS DISTINCT FROM old.paused_until))) EXECUTE FUNCTION note_set_moment('pause');
CREATE TRIGGER probe_set BEFORE UPDATE OF probe_at ON public.webhook_dispatch FOR EACH ROW WHEN (((new.probe_at IS NOT NULL) AND (new.probe_at IS DISTINCT FROM old.probe_at))) EXECUTE FUNCTION note_set_moment('probe');

create table webhook_endpoint (
  id uuid not null,
  tenant_id uuid not null,
  url text not null,
  description text,
  filters json not null,
  is_enabled boolean default true not null,
  disabled_reason text,
  last_success_at timestamp(3) with time zone,
  failing_since timestamp(3) with time zone,
  secret bytea not null,
  previous_secret bytea,
  previous_secret_expires_at timestamp(3) with time zone,
  from_event_id bigint not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint webhook_endpoint_pkey PRIMARY KEY (id),
  constraint webhook_endpoint_check CHECK (((NOT is_enabled) OR (disabled_reason IS NULL))),
  constraint webhook_endpoint_check1 CHECK (((previous_secret IS NULL) = (previous_secret_expires_at IS NULL))),
  constraint webhook_endpoint_disabled_reason_check CHECK ((disabled_reason = ANY (ARRAY['failing'::text, 'gone'::text]))),
  constraint webhook_endpoint_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
) with (fillfactor=70);
CREATE INDEX webhook_endpoint_list ON public.webhook_endpoint USING btree (tenant_id, created_at DESC, id DESC);
