// Made by `npm run tables` from the migrations. Do not edit.
import type { ColumnType } from 'kysely'

/** Read as text, since it exceeds what a number holds exactly. */
export type Int8 = ColumnType<string, string | number | bigint, string | number | bigint>
/** Written as JSON text: `pg` would send an array as a PostgreSQL array. */
export type Json = ColumnType<unknown, string, string>
export type Timestamp = ColumnType<Date, Date | string, Date | string>
/** May be left out of an insert. */
export type Generated<T> =
  T extends ColumnType<infer S, infer I, infer U>
    ? ColumnType<S, I | undefined, U>
    : ColumnType<T, T | undefined, T>

export interface AccountTable {
  id: string
  tenant_id: string
  provider: 'gmail' | 'graph' | 'imap'
  email: string
  display_name: string | null
  external_ref: string | null
  oauth_app_id: string | null
  cloud: string | null
  status: Generated<'active' | 'paused' | 'reauth_required' | 'disabled'>
  status_reason: string | null
  settings_override: Generated<Json>
  auth_method: 'oauth' | 'password' | 'org_connection' | 'delegate'
  imap: Json | null
  data_key: Buffer | null
  created_at: Generated<Timestamp>
  updated_at: Generated<Timestamp>
  deleted_at: Timestamp | null
  purge_after: Timestamp | null
  purged_at: Timestamp | null
  owner_instance: string | null
  owner_epoch: Generated<Int8>
  wake_window_at: Timestamp | null
  wake_count: Generated<number>
  purge_failures: Generated<number>
  subject: string | null
  purge_set_at: Generated<Timestamp | null>
  delegate_account_id: string | null
  wants_shared: Generated<boolean>
}

export interface AccountHalfTable {
  account_id: string
  tenant_id: string
  kind: 'mail' | 'calendar' | 'contacts'
  owner_instance: string | null
  owner_epoch: Generated<Int8>
  stamp: Generated<Int8>
  initialized_at: Timestamp | null
  sync_wanted: Generated<string[]>
  runtime_state: string | null
  runtime_detail: string | null
  runtime_instance: string | null
  runtime_updated_at: Timestamp | null
  behind_since: Timestamp | null
  failing_since: Timestamp | null
  closed_since: Timestamp | null
  differs_since: Timestamp | null
  verified_at: Timestamp | null
  problem: string | null
  look: Generated<Int8>
  search_version: Generated<number>
}

export interface AccountSecretTable {
  account_id: string
  name: string
  sealed: Buffer
  updated_at: Generated<Timestamp>
}

export interface AccountTokenTable {
  id: string
  tenant_id: string
  account_id: string
  scopes: string[]
  digest: Buffer
  expires_at: Timestamp
  created_at: Generated<Timestamp>
  api_key_id: string
}

export interface ApiKeyTable {
  id: string
  tenant_id: string
  name: string
  scopes: string[]
  account_ids: string[] | null
  digest: Buffer
  expires_at: Timestamp | null
  revoked_at: Timestamp | null
  last_used_at: Timestamp | null
  created_at: Generated<Timestamp>
}

export interface AuditChainTable {
  tenant_id: string
  base_position: Int8
  base_hash: Buffer
  head_position: Int8
  head_hash: Buffer
  broken_position: Int8 | null
  seal: Buffer
}

export interface AuditEntryTable {
  tenant_id: string
  position: Int8
  hash: Buffer
  id: string
  actor_type: string
  actor_id: string | null
  actor_label: string | null
  action: string
  surface: string
  targets: Json
  ip: string | null
  user_agent: string | null
  status: number
  error_reason: string | null
  request_id: string
}

export interface AuditOpenTable {
  id: string
  tenant_id: string
  actor_type: string
  actor_id: string | null
  actor_label: string | null
  action: string
  surface: string
  targets: Json
  ip: string | null
  user_agent: string | null
  status: number
  error_reason: string | null
  request_id: string
}

export interface BlobMarkTable {
  is_only: Generated<boolean>
  id: Generated<string>
  is_written: Generated<boolean>
  epoch: string
}

export interface BlobSweepTable {
  is_only: Generated<boolean>
  reached: Generated<string>
}

export interface BlobUploadTable {
  upload_id: string
  key: string
  created_at: Generated<Timestamp>
}

export interface BounceTable {
  outbox_id: string
  address: string
  account_id: string
  type: 'hard' | 'soft'
  created_at: Generated<Timestamp>
}

export interface CalendarTable {
  id: string
  tenant_id: string
  account_id: string
  provider_key: string
  name: string
  description: string | null
  owner: Json | null
  is_primary: boolean
  access: 'owner' | 'writer' | 'reader' | 'freebusy'
  can_edit: boolean
  color: string | null
  time_zone: string | null
  is_hidden: boolean
  position: number
  cursor: Json | null
  is_complete: Generated<boolean>
  basis: string
  is_ending: Generated<boolean>
}

export interface CalendarChannelTable {
  id: string
  account_id: string
  calendar_key: string
  resource_id: string
  token_digest: Buffer
  address: string
  begun_at: Generated<Timestamp>
  expires_at: Timestamp
  renew_at: Timestamp
}

export interface CalendarComparisonTable {
  calendar_id: string
  account_id: string
  due_at: Timestamp
  due_set_at: Generated<Timestamp | null>
  compared_at: Timestamp | null
  listed: Generated<number>
  indexed: Generated<number>
  missing: Generated<number>
  extra: Generated<number>
  changed: Generated<number>
  repaired: Generated<number>
  stuck_hours: Generated<number>
}

export interface CalendarEventTable {
  id: string
  tenant_id: string
  account_id: string
  calendar_id: string
  kind: 'single' | 'series' | 'exception'
  provider_key: string | null
  version: string | null
  uid: string | null
  series_id: string | null
  member: string | null
  original_at: Timestamp | null
  shown: Json | null
  start_at: Timestamp | null
  end_at: Timestamp | null
  recurrence: Json | null
  cancelled_starts: Json | null
  is_expanded: Generated<boolean>
  is_truncated: Generated<boolean>
  ends_at: Timestamp
  spanned_until: Timestamp | null
  zone_release: string | null
  missing_look: Int8 | null
  updated_at: Timestamp
}

export interface CalendarEventBodyTable {
  event_id: string
  account_id: string
  content_type: 'text' | 'html'
  content: string
}

export interface CalendarHomeTable {
  account_id: string
  home: string
}

export interface CalendarIntentTable {
  id: string
  account_id: string
  intent: Json
  created_at: Generated<Timestamp>
  leased_until: Timestamp
  is_listed: Generated<boolean>
  made_from: Json | null
  moved_to: string | null
  moved_id: string | null
}

export interface CalendarMarkTable {
  account_id: string
  calendar_id: string
  provider_key: string
  mark: Generated<string>
}

export interface CalendarSpanTable {
  id: string
  account_id: string
  calendar_id: string
  root_id: string
  event_id: string
  start_at: Timestamp
  end_at: Timestamp
  start_wall: string
  end_wall: string
  member: string | null
  provider_key: string | null
  is_busy: boolean
  is_long: boolean
}

export interface CalendarTakenTable {
  series_id: string
  account_id: string
  member: string
  provider_key: string | null
  version: string | null
}

export interface ChangedKeyTable {
  account_id: string
  source: string
  uid: Int8 | null
  remote_id: string | null
  is_added: boolean
  is_removed: boolean
  mark: Generated<string>
}

export interface ConnectAttemptTable {
  id: string
  session_id: string
  showing: string
  provider: string
  cloud: string | null
  app_id: string | null
  scopes: string[]
  state_digest: Buffer
  cookie_digest: Buffer
  created_at: Generated<Timestamp>
  expires_at: Timestamp
  ended_at: Timestamp | null
}

export interface ConnectSessionTable {
  id: string
  tenant_id: string
  kind: 'hosted' | 'headless'
  digest: Buffer
  providers: string[]
  password_imap: boolean
  microsoft_cloud: string | null
  app_ids: Json
  redirect_uri: string | null
  return_state: string | null
  external_ref: string | null
  login_hint: string | null
  settings: Json
  is_reconnect: boolean
  account_id: string | null
  email: string | null
  logins: Generated<number>
  searches: Generated<number>
  created_at: Generated<Timestamp>
  expires_at: Timestamp
  ended_at: Timestamp | null
  error: string | null
  wants_shared: Generated<boolean>
}

export interface ContactTable {
  id: string
  tenant_id: string
  account_id: string
  folder_id: string
  provider_key: string
  version: string
  uid: string | null
  display_name: string | null
  given_name: string | null
  middle_name: string | null
  family_name: string | null
  nickname: string | null
  organization: string | null
  job_title: string | null
  department: string | null
  emails: Json
  phones: Json
  birthday: string | null
  notes: string | null
  photo_state: 'unknown' | 'none' | 'some'
  photo_version: string | null
  sort_name: string
  search_text: string
  missing_look: Int8 | null
  updated_at: Timestamp
}

export interface ContactComparisonTable {
  folder_id: string
  account_id: string
  due_at: Timestamp
  due_set_at: Generated<Timestamp | null>
  compared_at: Timestamp | null
  listed: Generated<number>
  indexed: Generated<number>
  missing: Generated<number>
  extra: Generated<number>
  changed: Generated<number>
  repaired: Generated<number>
  stuck_hours: Generated<number>
}

export interface ContactFolderTable {
  id: string
  tenant_id: string
  account_id: string
  provider_key: string
  name: string
  position: number
  is_default: boolean
  is_read_only: boolean
  is_shown: boolean
  cursor: Json | null
  is_complete: Generated<boolean>
}

export interface ContactHomeTable {
  account_id: string
  home: string
}

export interface ContactMarkTable {
  account_id: string
  provider_key: string
  mark: Generated<string>
}

export interface ContactPhotoTable {
  id: string
  tenant_id: string
  account_id: string
  contact_id: string | null
  version: string
  content_type: string
  bytes: Generated<Int8>
  created_at: Generated<Timestamp>
}

export interface DraftChangeTable {
  message_id: string
  generation: number
  held_until: Timestamp | null
}

export interface EventTable {
  tenant_id: string
  id: Int8
  account_id: string | null
  type: string
  data: Json
  created_at: Generated<Timestamp>
}

export interface EventFollowerTable {
  name: string
  tenant_id: string
  after_id: Generated<Int8>
  failures: Generated<number>
  due_at: Timestamp | null
  due_set_at: Generated<Timestamp | null>
}

export interface FeedEpochTable {
  is_only: Generated<boolean>
  epoch: Generated<string>
  place: Json | null
  standby: string | null
  noticed_epoch: string | null
  noticed_at: Timestamp | null
  continues: Generated<string[]>
}

export interface GmailWatchTable {
  account_id: string
  topic: string
  begun_at: Generated<Timestamp>
  expires_at: Timestamp
  renew_at: Timestamp
}

export interface GrantRevocationTable {
  id: string
  tenant_id: string
  provider: 'google' | 'microsoft'
  client_id: string
  subject: string | null
  email: string
  refresh_token: Buffer
  expires_at: Timestamp
}

export interface GraphSlotTable {
  name: string
  number: number
  instance: string | null
  wanted_by: string | null
  wanted_until: Timestamp | null
  paused_until: Timestamp | null
  used_at: Generated<Timestamp>
}

export interface GraphSubscriptionTable {
  account_id: string
  subscription_id: string
  nonce: string
  begun_at: Generated<Timestamp>
  expires_at: Timestamp
  renew_at: Timestamp
  event: 'reauthorize' | 'removed' | 'missed' | null
}

export interface HalfSpreadTable {
  kind: string
  provider: string
  after_id: string | null
}

export interface HalfSubscriptionTable {
  account_id: string
  kind: string
  subscription_id: string
  nonce: string
  begun_at: Generated<Timestamp>
  expires_at: Timestamp
  renew_at: Timestamp
  event: 'reauthorize' | 'removed' | 'missed' | null
}

export interface IdempotencyKeyTable {
  tenant_id: string
  key: string
  fingerprint: Buffer
  scope: string
  account_id: string | null
  claim: string
  locked_until: Timestamp
  status: number | null
  answer: Buffer | null
  expires_at: Timestamp
  attempt: Generated<string>
  has_failed: Generated<boolean>
  about_account: string | null
}

export interface IdentityTable {
  id: string
  tenant_id: string
  account_id: string
  address: string
  compared_address: string
  name: string | null
  signature: Json | null
  created_at: Generated<Timestamp>
  source: Generated<'provider' | 'custom'>
  provider_signature: Json | null
  is_offered: Generated<boolean>
}

export interface InstanceTable {
  id: string
  heartbeat_until: Timestamp
  started_at: Generated<Timestamp>
  roles: Generated<string[]>
  host: string | null
  version: string | null
  heartbeat_at: Timestamp | null
  accounts: number | null
  weight: number | null
}

export interface JobTable {
  id: string
  tenant_id: string
  kind: string
  payload: Json
  due_at: Generated<Timestamp>
  attempts: Generated<number>
  claimed_by: string | null
  due_set_at: Generated<Timestamp | null>
}

export interface LeftSubscriptionTable {
  id: string
  tenant_id: string
  cloud: string
  subscription_id: string
  access_token: Buffer
  expires_at: Timestamp
  resource_id: string | null
}

export interface MailMergePaceTable {
  id: string
  account_id: string
  interval_seconds: number
  due_at: Timestamp | null
  due_set_at: Generated<Timestamp | null>
}

export interface MailSettingsTable {
  account_id: string
  tenant_id: string
  sign_by_default: Generated<boolean>
  signature: Json | null
  provider_signature: Json | null
  identities_read_at: Timestamp | null
  identities_asked_at: Timestamp | null
}

export interface MailboxTable {
  id: string
  tenant_id: string
  account_id: string
  provider_key: string
  provider_id: string | null
  name: string
  path: string
  parent_id: string | null
  role: string
  kind: 'folder' | 'label'
  total_count: number | null
  unread_count: number | null
  source: string | null
  created_at: Generated<Timestamp>
  is_deleted: Generated<boolean>
}

export interface MailboxComparisonTable {
  mailbox_id: string
  account_id: string
  due_at: Timestamp
  compared_at: Timestamp | null
  listed: Generated<number>
  indexed: Generated<number>
  missing: Generated<number>
  extra: Generated<number>
  changed: Generated<number>
  repaired: Generated<number>
  stuck_hours: Generated<number>
  is_doubtful: Generated<boolean>
  due_set_at: Generated<Timestamp | null>
}

export interface MessageTable {
  id: string
  tenant_id: string
  account_id: string
  thread_id: string | null
  internet_message_id: string | null
  identity: string
  mailbox_ids: string[]
  subject: string | null
  from: Json | null
  to: Json
  cc: Json
  bcc: Json
  reply_to: Json
  sender_text: string
  recipients_text: string
  snippet: string
  received_at: Timestamp
  sent_at: Timestamp | null
  is_read: boolean
  is_flagged: boolean
  is_draft: boolean
  has_attachments: boolean
  categories: string[]
  direction: 'inbound' | 'outbound'
  outbox_id: string | null
  reference: string | null
  importance: 'high' | 'normal' | 'low' | null
  size: Int8 | null
  missing_look: number | null
  remote_id: string | null
  draft_id: string | null
  draft_generation: number | null
  content_version: Generated<number>
  kept_until: Timestamp | null
  answered_outbox_id: string | null
  classification: Json | null
  may_be_report: boolean | null
  draft_key: string | null
  draft_revision: string | null
  draft_digest: string | null
  may_be_invitation: boolean | null
}

export interface MessageBlobTable {
  id: string
  tenant_id: string
  account_id: string
  message_id: string | null
  bytes: Generated<Int8>
  created_at: Generated<Timestamp>
  is_indexed: Generated<boolean>
}

export interface MessageCopyTable {
  message_id: string
  number: number
  sealed: Buffer
}

export interface MessageMailboxTable {
  mailbox_id: string
  received_at: Timestamp
  message_id: string
  uid: Int8 | null
}

export interface MessageSearchTable {
  message_id: string
  account_id: string
  received_at: Timestamp
  document: string
  version: Generated<number>
}

export interface OauthAppTable {
  id: string
  tenant_id: string
  provider: 'google' | 'microsoft'
  cloud: string | null
  name: string
  client_id: string
  credential_type: 'secret' | 'certificate'
  secret: Buffer
  scopes: string[] | null
  push_topic: string | null
  push_subscription: string | null
  push_service_account: string | null
  created_at: Generated<Timestamp>
  updated_at: Generated<Timestamp>
  certificate: string | null
}

export interface OauthGrantTable {
  account_id: string
  id: string
  provider: 'google' | 'microsoft'
  client_id: string
  scopes: string[]
  version: Generated<Int8>
  refresh_token: Buffer
  previous_refresh_token: Buffer | null
  previous_until: Timestamp | null
  access_token: Buffer
  issued_at: Timestamp
  expires_at: Timestamp
  refresh_at: Timestamp
  refreshing_by: string | null
  refreshing_until: Timestamp | null
  failures: Generated<number>
  failure: string | null
  failure_reason: string | null
  retry_at: Timestamp | null
  refused_at: Timestamp | null
  created_at: Generated<Timestamp>
  retry_set_at: Generated<Timestamp | null>
  spread_after: string | null
}

export interface OutboxTable {
  id: string
  tenant_id: string
  account_id: string
  status: Generated<'queued' | 'sending' | 'sent' | 'failed' | 'cancelled'>
  from: Json
  to: Json
  cc: Json
  bcc: Json
  reply_to: Json
  subject: string | null
  snippet: string
  has_attachments: boolean
  size: Int8
  importance: 'high' | 'normal' | 'low' | null
  in_reply_to: string | null
  forward_of: string | null
  draft_id: string | null
  reference: string | null
  thread_id: string | null
  internet_message_id: string
  waiting: string[]
  rejected: Generated<Json>
  send_at: Timestamp
  due_at: Timestamp | null
  attempts: Generated<number>
  error_reason: string | null
  error_message: string | null
  dated_at: Timestamp | null
  phase: 'pre' | 'handed_over' | 'unknown' | null
  claim: string | null
  claimed_by: string | null
  handed_over_at: Timestamp | null
  trace: string | null
  task: 'look_up' | 'file_copy' | 'link_copy' | 'mark_original' | 'discard' | null
  task_at: Timestamp | null
  task_tries: Generated<number>
  task_by: string | null
  copy_searches: Generated<number>
  copy_filed_at: Timestamp | null
  filed_copy: Json | null
  sent_at: Timestamp | null
  ended_at: Timestamp | null
  created_at: Generated<Timestamp>
  updated_at: Generated<Timestamp>
  draft_version: number | null
  template_id: string | null
  list_id: string | null
  mail_merge_id: string | null
  track_opens: Generated<boolean>
  track_clicks: Generated<boolean>
  is_paced: Generated<boolean>
  losses: Generated<number>
  sent_key: string | null
  was_absent: Generated<boolean>
  held_since: Timestamp | null
  due_set_at: Generated<Timestamp | null>
  task_set_at: Generated<Timestamp | null>
  is_scheduled: Generated<boolean>
  may_be_prepared: Generated<boolean>
  origin: Generated<'send' | 'invitation'>
  event_id: string | null
}

export interface OutboxContentTable {
  id: string
  account_id: string
  outbox_id: string | null
  layout: Json
  bytes: Int8
  created_at: Generated<Timestamp>
  tail_id: string | null
}

export interface OutboxPieceTable {
  content_id: string
  number: number
  sealed: Buffer
}

export interface PendingAnswerTable {
  message_id: string
  tenant_id: string
  account_id: string
  due_at: Generated<Timestamp>
  attempts: Generated<number>
  claimed_by: string | null
  created_at: Generated<Timestamp>
  due_set_at: Generated<Timestamp | null>
}

export interface PendingInvitationTable {
  message_id: string
  tenant_id: string
  account_id: string
  due_at: Generated<Timestamp>
  due_set_at: Generated<Timestamp | null>
  attempts: Generated<number>
  claimed_by: string | null
  created_at: Generated<Timestamp>
}

export interface PlanTable {
  id: string
  name: string
  api_calls_per_minute: number | null
  api_calls_per_minute_per_key: number | null
  max_accounts: number | null
  body_storage_allowed: boolean
  storage_bytes: Int8 | null
  created_at: Generated<Timestamp>
  sends_per_day: number | null
  modules: string[] | null
  webhook_endpoints: number | null
}

export interface QuarantinedCalendarEventTable {
  calendar_id: string
  account_id: string
  provider_key: string
  version: string | null
  reason: string
  reader_version: number
  next_attempt_at: Timestamp
}

export interface QuarantinedContactTable {
  account_id: string
  folder_id: string
  provider_key: string
  version: string | null
  reason: string
  reader_version: number
  next_attempt_at: Timestamp
}

export interface QuarantinedMessageTable {
  account_id: string
  uid: Int8 | null
  reason: string
  attempts: number
  parser_version: number
  first_failed_at: Generated<Timestamp>
  next_attempt_at: Timestamp
  source: string
  remote_id: string | null
  attempt_set_at: Generated<Timestamp | null>
}

export interface QuotaUseTable {
  name: string
  seconds: Generated<Int8[]>
  units: Generated<Int8[]>
}

export interface RateWindowTable {
  name: string
  number: Int8
  count: number
}

export interface RecurringTaskTable {
  name: string
  due_at: Timestamp
  claimed_by: string | null
}

export interface SchemaMigrationTable {
  version: number
  name: string
  checksum: string
  applied_at: Generated<Timestamp>
  serves: number | null
  release: string | null
  is_finished: Generated<boolean>
}

export interface SealedValueTable {
  name: string
  sealed: Buffer
}

export interface SendingAccountTable {
  account_id: string
  tenant_id: string
  due_at: Timestamp | null
  paused_until: Timestamp | null
  pauses: Generated<number>
  troubled_since: Timestamp | null
  pause_reason: string | null
  pause_message: string | null
  served_at: Generated<Timestamp>
  files_copies: Generated<boolean>
  message_bytes_max: Int8 | null
  due_set_at: Generated<Timestamp | null>
  pause_set_at: Generated<Timestamp | null>
}

export interface SendingEpochTable {
  is_only: Generated<boolean>
  epoch: string
}

export interface SentMessageTable {
  account_id: string
  internet_message_id: string
  outbox_id: string
  reference: string | null
  list_id: string | null
  remote_id: string | null
}

export interface SettingsAnnouncementTable {
  id: string
  tenant_id: string
  before: Json
  after_id: string
  created_at: Generated<Timestamp>
}

export interface SuppressionEntryTable {
  list_key: string
  address: string
  id: string
  source: 'unsubscribe' | 'bounce' | 'api' | 'reply' | 'complaint' | 'inactive'
  reason: string
  created_at: Generated<Timestamp>
}

export interface SuppressionListTable {
  key: string
  tenant_id: string
  id: string
  name: string
  description: string | null
  unsubscribe: Generated<number>
  bounce: Generated<number>
  api: Generated<number>
  reply: Generated<number>
  complaint: Generated<number>
  inactive: Generated<number>
  created_at: Generated<Timestamp>
  deleted_at: Timestamp | null
}

export interface SuppressionReviewTable {
  id: string
  tenant_id: string
  list_id: string
  address: string
  source: 'reply' | 'inactive'
  account_id: string
  message_id: string
  outbox_id: string | null
  probability: number
  alternate_contacts: string[]
  created_at: Generated<Timestamp>
}

export interface SyncCursorTable {
  account_id: string
  source: string
  cursor: Json
  suspected_at: Timestamp | null
}

export interface TemplateTable {
  id: string
  tenant_id: string
  account_id: string | null
  name: string
  description: string | null
  source: string
  external_ref: string | null
  subject: string | null
  html: string | null
  text: string | null
  preview_text: string | null
  format: string
  created_at: Generated<Timestamp>
  updated_at: Generated<Timestamp>
}

export interface TenantTable {
  id: string
  name: string
  settings: Json
  suspended_at: Timestamp | null
  created_at: Generated<Timestamp>
  plan_id: string | null
  past_due_at: Timestamp | null
  links_off_at: Timestamp | null
  resumed_at: Timestamp | null
}

export interface TenantSendsTable {
  tenant_id: string
  day: Timestamp
  count: number
}

export interface TenantStorageTable {
  tenant_id: string
  bytes: Int8
}

export interface ThreadLinkTable {
  account_id: string
  reference: string
  thread_id: string
}

export interface TrackedSendTable {
  outbox_id: string
  account_id: string
  links: Buffer | null
  items: Generated<number>
  opens: Generated<number>
  machine_opens: Generated<number>
  first_opened_at: Timestamp | null
  last_opened_at: Timestamp | null
  clicks: Generated<number>
  machine_clicks: Generated<number>
  first_clicked_at: Timestamp | null
  last_clicked_at: Timestamp | null
  link_clicks: Generated<Json>
  judge_failures: Generated<number>
  judge_due_at: Timestamp | null
  judge_set_at: Generated<Timestamp | null>
}

export interface TrackingItemTable {
  id: string
  outbox_id: string
  account_id: string
  tenant_id: string
  kind: 'open' | 'click' | 'honeypot'
  link: number | null
  client: Buffer
  sign: 'prefetch' | 'scanner' | null
  ip: string | null
  user_agent: string | null
  occurred_at: Timestamp
  is_machine: boolean | null
  machine_reason: 'prefetch' | 'scanner' | 'honeypot' | 'burst' | null
}

export interface UsageCountTable {
  tenant_id: string
  day: Timestamp
  what: 'read' | 'write' | 'send' | 'admin' | 'sends' | 'webhook_deliveries' | 'ai_calls'
  count: number
}

export interface UsageDayTable {
  tenant_id: string
  day: Timestamp
  live_accounts: Generated<number>
  read: Generated<Int8>
  write: Generated<Int8>
  send: Generated<Int8>
  admin: Generated<Int8>
  sends: Generated<Int8>
  webhook_deliveries: Generated<Int8>
  ai_calls: Generated<Int8>
  stored_bytes: Int8 | null
}

export interface WebhookAttemptTable {
  endpoint_id: string
  id: string
  tenant_id: string
  event_id: Int8
  event_type: string
  account_id: string | null
  attempt: number
  status_code: number | null
  error: string | null
  response_excerpt: string | null
  duration_ms: number
  is_replay: boolean
  is_test: boolean
  occurred_at: Timestamp
}

export interface WebhookDeliveryTable {
  endpoint_id: string
  event_id: Int8
  tenant_id: string
  account_id: string | null
  priority: number
  queued_at: Generated<Timestamp>
  due_at: Generated<Timestamp | null>
  held_until: Timestamp | null
  held_at: Timestamp | null
  attempts: Generated<number>
  tries: Generated<number>
  replays: Generated<number>
  test_type: string | null
  test_body: string | null
  due_set_at: Generated<Timestamp | null>
}

export interface WebhookDispatchTable {
  endpoint_id: string
  tenant_id: string
  due_at: Timestamp | null
  served_at: Generated<Timestamp>
  owner: string | null
  in_flight_max: Generated<number>
  acknowledged: Generated<number>
  failures: Generated<number>
  probes: Generated<number>
  probe_at: Timestamp | null
  probed_event_id: Generated<Int8>
  paused_until: Timestamp | null
  failed_attempts: Generated<number>
  failed_event_ids: Generated<Int8[]>
  is_releasing: Generated<boolean>
  holds_cleared_at: Timestamp | null
  give_up_before: Timestamp | null
  due_set_at: Generated<Timestamp | null>
  probe_set_at: Generated<Timestamp | null>
  pause_set_at: Generated<Timestamp | null>
}

export interface WebhookEndpointTable {
  id: string
  tenant_id: string
  url: string
  description: string | null
  filters: Json
  is_enabled: Generated<boolean>
  disabled_reason: 'failing' | 'gone' | null
  last_success_at: Timestamp | null
  failing_since: Timestamp | null
  secret: Buffer
  previous_secret: Buffer | null
  previous_secret_expires_at: Timestamp | null
  from_event_id: Int8
  created_at: Generated<Timestamp>
}

export interface Tables {
  account: AccountTable
  account_half: AccountHalfTable
  account_secret: AccountSecretTable
  account_token: AccountTokenTable
  api_key: ApiKeyTable
  audit_chain: AuditChainTable
  audit_entry: AuditEntryTable
  audit_open: AuditOpenTable
  blob_mark: BlobMarkTable
  blob_sweep: BlobSweepTable
  blob_upload: BlobUploadTable
  bounce: BounceTable
  calendar: CalendarTable
  calendar_channel: CalendarChannelTable
  calendar_comparison: CalendarComparisonTable
  calendar_event: CalendarEventTable
  calendar_event_body: CalendarEventBodyTable
  calendar_home: CalendarHomeTable
  calendar_intent: CalendarIntentTable
  calendar_mark: CalendarMarkTable
  calendar_span: CalendarSpanTable
  calendar_taken: CalendarTakenTable
  changed_key: ChangedKeyTable
  connect_attempt: ConnectAttemptTable
  connect_session: ConnectSessionTable
  contact: ContactTable
  contact_comparison: ContactComparisonTable
  contact_folder: ContactFolderTable
  contact_home: ContactHomeTable
  contact_mark: ContactMarkTable
  contact_photo: ContactPhotoTable
  draft_change: DraftChangeTable
  event: EventTable
  event_follower: EventFollowerTable
  feed_epoch: FeedEpochTable
  gmail_watch: GmailWatchTable
  grant_revocation: GrantRevocationTable
  graph_slot: GraphSlotTable
  graph_subscription: GraphSubscriptionTable
  half_spread: HalfSpreadTable
  half_subscription: HalfSubscriptionTable
  idempotency_key: IdempotencyKeyTable
  identity: IdentityTable
  instance: InstanceTable
  job: JobTable
  left_subscription: LeftSubscriptionTable
  mail_merge_pace: MailMergePaceTable
  mail_settings: MailSettingsTable
  mailbox: MailboxTable
  mailbox_comparison: MailboxComparisonTable
  message: MessageTable
  message_blob: MessageBlobTable
  message_copy: MessageCopyTable
  message_mailbox: MessageMailboxTable
  message_search: MessageSearchTable
  oauth_app: OauthAppTable
  oauth_grant: OauthGrantTable
  outbox: OutboxTable
  outbox_content: OutboxContentTable
  outbox_piece: OutboxPieceTable
  pending_answer: PendingAnswerTable
  pending_invitation: PendingInvitationTable
  plan: PlanTable
  quarantined_calendar_event: QuarantinedCalendarEventTable
  quarantined_contact: QuarantinedContactTable
  quarantined_message: QuarantinedMessageTable
  quota_use: QuotaUseTable
  rate_window: RateWindowTable
  recurring_task: RecurringTaskTable
  schema_migration: SchemaMigrationTable
  sealed_value: SealedValueTable
  sending_account: SendingAccountTable
  sending_epoch: SendingEpochTable
  sent_message: SentMessageTable
  settings_announcement: SettingsAnnouncementTable
  suppression_entry: SuppressionEntryTable
  suppression_list: SuppressionListTable
  suppression_review: SuppressionReviewTable
  sync_cursor: SyncCursorTable
  template: TemplateTable
  tenant: TenantTable
  tenant_sends: TenantSendsTable
  tenant_storage: TenantStorageTable
  thread_link: ThreadLinkTable
  tracked_send: TrackedSendTable
  tracking_item: TrackingItemTable
  usage_count: UsageCountTable
  usage_day: UsageDayTable
  webhook_attempt: WebhookAttemptTable
  webhook_delivery: WebhookDeliveryTable
  webhook_dispatch: WebhookDispatchTable
  webhook_endpoint: WebhookEndpointTable
}

/**
 * Columns of this release's schema. It selects these and not `*`: the result of a prepared `*` changes when a newer
 * release adds a column, and PostgreSQL refuses to run it.
 */
export const COLUMNS = {
  account: ['account.id', 'account.tenant_id', 'account.provider', 'account.email', 'account.display_name', 'account.external_ref', 'account.oauth_app_id', 'account.cloud', 'account.status', 'account.status_reason', 'account.settings_override', 'account.auth_method', 'account.imap', 'account.data_key', 'account.created_at', 'account.updated_at', 'account.deleted_at', 'account.purge_after', 'account.purged_at', 'account.owner_instance', 'account.owner_epoch', 'account.wake_window_at', 'account.wake_count', 'account.purge_failures', 'account.subject', 'account.purge_set_at', 'account.delegate_account_id', 'account.wants_shared'],
  account_half: ['account_half.account_id', 'account_half.tenant_id', 'account_half.kind', 'account_half.owner_instance', 'account_half.owner_epoch', 'account_half.stamp', 'account_half.initialized_at', 'account_half.sync_wanted', 'account_half.runtime_state', 'account_half.runtime_detail', 'account_half.runtime_instance', 'account_half.runtime_updated_at', 'account_half.behind_since', 'account_half.failing_since', 'account_half.closed_since', 'account_half.differs_since', 'account_half.verified_at', 'account_half.problem', 'account_half.look', 'account_half.search_version'],
  account_secret: ['account_secret.account_id', 'account_secret.name', 'account_secret.sealed', 'account_secret.updated_at'],
  account_token: ['account_token.id', 'account_token.tenant_id', 'account_token.account_id', 'account_token.scopes', 'account_token.digest', 'account_token.expires_at', 'account_token.created_at', 'account_token.api_key_id'],
  api_key: ['api_key.id', 'api_key.tenant_id', 'api_key.name', 'api_key.scopes', 'api_key.account_ids', 'api_key.digest', 'api_key.expires_at', 'api_key.revoked_at', 'api_key.last_used_at', 'api_key.created_at'],
  audit_chain: ['audit_chain.tenant_id', 'audit_chain.base_position', 'audit_chain.base_hash', 'audit_chain.head_position', 'audit_chain.head_hash', 'audit_chain.broken_position', 'audit_chain.seal'],
  audit_entry: ['audit_entry.tenant_id', 'audit_entry.position', 'audit_entry.hash', 'audit_entry.id', 'audit_entry.actor_type', 'audit_entry.actor_id', 'audit_entry.actor_label', 'audit_entry.action', 'audit_entry.surface', 'audit_entry.targets', 'audit_entry.ip', 'audit_entry.user_agent', 'audit_entry.status', 'audit_entry.error_reason', 'audit_entry.request_id'],
  audit_open: ['audit_open.id', 'audit_open.tenant_id', 'audit_open.actor_type', 'audit_open.actor_id', 'audit_open.actor_label', 'audit_open.action', 'audit_open.surface', 'audit_open.targets', 'audit_open.ip', 'audit_open.user_agent', 'audit_open.status', 'audit_open.error_reason', 'audit_open.request_id'],
  blob_mark: ['blob_mark.is_only', 'blob_mark.id', 'blob_mark.is_written', 'blob_mark.epoch'],
  blob_sweep: ['blob_sweep.is_only', 'blob_sweep.reached'],
  blob_upload: ['blob_upload.upload_id', 'blob_upload.key', 'blob_upload.created_at'],
  bounce: ['bounce.outbox_id', 'bounce.address', 'bounce.account_id', 'bounce.type', 'bounce.created_at'],
  calendar: ['calendar.id', 'calendar.tenant_id', 'calendar.account_id', 'calendar.provider_key', 'calendar.name', 'calendar.description', 'calendar.owner', 'calendar.is_primary', 'calendar.access', 'calendar.can_edit', 'calendar.color', 'calendar.time_zone', 'calendar.is_hidden', 'calendar.position', 'calendar.cursor', 'calendar.is_complete', 'calendar.basis', 'calendar.is_ending'],
  calendar_channel: ['calendar_channel.id', 'calendar_channel.account_id', 'calendar_channel.calendar_key', 'calendar_channel.resource_id', 'calendar_channel.token_digest', 'calendar_channel.address', 'calendar_channel.begun_at', 'calendar_channel.expires_at', 'calendar_channel.renew_at'],
  calendar_comparison: ['calendar_comparison.calendar_id', 'calendar_comparison.account_id', 'calendar_comparison.due_at', 'calendar_comparison.due_set_at', 'calendar_comparison.compared_at', 'calendar_comparison.listed', 'calendar_comparison.indexed', 'calendar_comparison.missing', 'calendar_comparison.extra', 'calendar_comparison.changed', 'calendar_comparison.repaired', 'calendar_comparison.stuck_hours'],
  calendar_event: ['calendar_event.id', 'calendar_event.tenant_id', 'calendar_event.account_id', 'calendar_event.calendar_id', 'calendar_event.kind', 'calendar_event.provider_key', 'calendar_event.version', 'calendar_event.uid', 'calendar_event.series_id', 'calendar_event.member', 'calendar_event.original_at', 'calendar_event.shown', 'calendar_event.start_at', 'calendar_event.end_at', 'calendar_event.recurrence', 'calendar_event.cancelled_starts', 'calendar_event.is_expanded', 'calendar_event.is_truncated', 'calendar_event.ends_at', 'calendar_event.spanned_until', 'calendar_event.zone_release', 'calendar_event.missing_look', 'calendar_event.updated_at'],
  calendar_event_body: ['calendar_event_body.event_id', 'calendar_event_body.account_id', 'calendar_event_body.content_type', 'calendar_event_body.content'],
  calendar_home: ['calendar_home.account_id', 'calendar_home.home'],
  calendar_intent: ['calendar_intent.id', 'calendar_intent.account_id', 'calendar_intent.intent', 'calendar_intent.created_at', 'calendar_intent.leased_until', 'calendar_intent.is_listed', 'calendar_intent.made_from', 'calendar_intent.moved_to', 'calendar_intent.moved_id'],
  calendar_mark: ['calendar_mark.account_id', 'calendar_mark.calendar_id', 'calendar_mark.provider_key', 'calendar_mark.mark'],
  calendar_span: ['calendar_span.id', 'calendar_span.account_id', 'calendar_span.calendar_id', 'calendar_span.root_id', 'calendar_span.event_id', 'calendar_span.start_at', 'calendar_span.end_at', 'calendar_span.start_wall', 'calendar_span.end_wall', 'calendar_span.member', 'calendar_span.provider_key', 'calendar_span.is_busy', 'calendar_span.is_long'],
  calendar_taken: ['calendar_taken.series_id', 'calendar_taken.account_id', 'calendar_taken.member', 'calendar_taken.provider_key', 'calendar_taken.version'],
  changed_key: ['changed_key.account_id', 'changed_key.source', 'changed_key.uid', 'changed_key.remote_id', 'changed_key.is_added', 'changed_key.is_removed', 'changed_key.mark'],
  connect_attempt: ['connect_attempt.id', 'connect_attempt.session_id', 'connect_attempt.showing', 'connect_attempt.provider', 'connect_attempt.cloud', 'connect_attempt.app_id', 'connect_attempt.scopes', 'connect_attempt.state_digest', 'connect_attempt.cookie_digest', 'connect_attempt.created_at', 'connect_attempt.expires_at', 'connect_attempt.ended_at'],
  connect_session: ['connect_session.id', 'connect_session.tenant_id', 'connect_session.kind', 'connect_session.digest', 'connect_session.providers', 'connect_session.password_imap', 'connect_session.microsoft_cloud', 'connect_session.app_ids', 'connect_session.redirect_uri', 'connect_session.return_state', 'connect_session.external_ref', 'connect_session.login_hint', 'connect_session.settings', 'connect_session.is_reconnect', 'connect_session.account_id', 'connect_session.email', 'connect_session.logins', 'connect_session.searches', 'connect_session.created_at', 'connect_session.expires_at', 'connect_session.ended_at', 'connect_session.error', 'connect_session.wants_shared'],
  contact: ['contact.id', 'contact.tenant_id', 'contact.account_id', 'contact.folder_id', 'contact.provider_key', 'contact.version', 'contact.uid', 'contact.display_name', 'contact.given_name', 'contact.middle_name', 'contact.family_name', 'contact.nickname', 'contact.organization', 'contact.job_title', 'contact.department', 'contact.emails', 'contact.phones', 'contact.birthday', 'contact.notes', 'contact.photo_state', 'contact.photo_version', 'contact.sort_name', 'contact.search_text', 'contact.missing_look', 'contact.updated_at'],
  contact_comparison: ['contact_comparison.folder_id', 'contact_comparison.account_id', 'contact_comparison.due_at', 'contact_comparison.due_set_at', 'contact_comparison.compared_at', 'contact_comparison.listed', 'contact_comparison.indexed', 'contact_comparison.missing', 'contact_comparison.extra', 'contact_comparison.changed', 'contact_comparison.repaired', 'contact_comparison.stuck_hours'],
  contact_folder: ['contact_folder.id', 'contact_folder.tenant_id', 'contact_folder.account_id', 'contact_folder.provider_key', 'contact_folder.name', 'contact_folder.position', 'contact_folder.is_default', 'contact_folder.is_read_only', 'contact_folder.is_shown', 'contact_folder.cursor', 'contact_folder.is_complete'],
  contact_home: ['contact_home.account_id', 'contact_home.home'],
  contact_mark: ['contact_mark.account_id', 'contact_mark.provider_key', 'contact_mark.mark'],
  contact_photo: ['contact_photo.id', 'contact_photo.tenant_id', 'contact_photo.account_id', 'contact_photo.contact_id', 'contact_photo.version', 'contact_photo.content_type', 'contact_photo.bytes', 'contact_photo.created_at'],
  draft_change: ['draft_change.message_id', 'draft_change.generation', 'draft_change.held_until'],
  event: ['event.tenant_id', 'event.id', 'event.account_id', 'event.type', 'event.data', 'event.created_at'],
  event_follower: ['event_follower.name', 'event_follower.tenant_id', 'event_follower.after_id', 'event_follower.failures', 'event_follower.due_at', 'event_follower.due_set_at'],
  feed_epoch: ['feed_epoch.is_only', 'feed_epoch.epoch', 'feed_epoch.place', 'feed_epoch.standby', 'feed_epoch.noticed_epoch', 'feed_epoch.noticed_at', 'feed_epoch.continues'],
  gmail_watch: ['gmail_watch.account_id', 'gmail_watch.topic', 'gmail_watch.begun_at', 'gmail_watch.expires_at', 'gmail_watch.renew_at'],
  grant_revocation: ['grant_revocation.id', 'grant_revocation.tenant_id', 'grant_revocation.provider', 'grant_revocation.client_id', 'grant_revocation.subject', 'grant_revocation.email', 'grant_revocation.refresh_token', 'grant_revocation.expires_at'],
  graph_slot: ['graph_slot.name', 'graph_slot.number', 'graph_slot.instance', 'graph_slot.wanted_by', 'graph_slot.wanted_until', 'graph_slot.paused_until', 'graph_slot.used_at'],
  graph_subscription: ['graph_subscription.account_id', 'graph_subscription.subscription_id', 'graph_subscription.nonce', 'graph_subscription.begun_at', 'graph_subscription.expires_at', 'graph_subscription.renew_at', 'graph_subscription.event'],
  half_spread: ['half_spread.kind', 'half_spread.provider', 'half_spread.after_id'],
  half_subscription: ['half_subscription.account_id', 'half_subscription.kind', 'half_subscription.subscription_id', 'half_subscription.nonce', 'half_subscription.begun_at', 'half_subscription.expires_at', 'half_subscription.renew_at', 'half_subscription.event'],
  idempotency_key: ['idempotency_key.tenant_id', 'idempotency_key.key', 'idempotency_key.fingerprint', 'idempotency_key.scope', 'idempotency_key.account_id', 'idempotency_key.claim', 'idempotency_key.locked_until', 'idempotency_key.status', 'idempotency_key.answer', 'idempotency_key.expires_at', 'idempotency_key.attempt', 'idempotency_key.has_failed', 'idempotency_key.about_account'],
  identity: ['identity.id', 'identity.tenant_id', 'identity.account_id', 'identity.address', 'identity.compared_address', 'identity.name', 'identity.signature', 'identity.created_at', 'identity.source', 'identity.provider_signature', 'identity.is_offered'],
  instance: ['instance.id', 'instance.heartbeat_until', 'instance.started_at', 'instance.roles', 'instance.host', 'instance.version', 'instance.heartbeat_at', 'instance.accounts', 'instance.weight'],
  job: ['job.id', 'job.tenant_id', 'job.kind', 'job.payload', 'job.due_at', 'job.attempts', 'job.claimed_by', 'job.due_set_at'],
  left_subscription: ['left_subscription.id', 'left_subscription.tenant_id', 'left_subscription.cloud', 'left_subscription.subscription_id', 'left_subscription.access_token', 'left_subscription.expires_at', 'left_subscription.resource_id'],
  mail_merge_pace: ['mail_merge_pace.id', 'mail_merge_pace.account_id', 'mail_merge_pace.interval_seconds', 'mail_merge_pace.due_at', 'mail_merge_pace.due_set_at'],
  mail_settings: ['mail_settings.account_id', 'mail_settings.tenant_id', 'mail_settings.sign_by_default', 'mail_settings.signature', 'mail_settings.provider_signature', 'mail_settings.identities_read_at', 'mail_settings.identities_asked_at'],
  mailbox: ['mailbox.id', 'mailbox.tenant_id', 'mailbox.account_id', 'mailbox.provider_key', 'mailbox.provider_id', 'mailbox.name', 'mailbox.path', 'mailbox.parent_id', 'mailbox.role', 'mailbox.kind', 'mailbox.total_count', 'mailbox.unread_count', 'mailbox.source', 'mailbox.created_at', 'mailbox.is_deleted'],
  mailbox_comparison: ['mailbox_comparison.mailbox_id', 'mailbox_comparison.account_id', 'mailbox_comparison.due_at', 'mailbox_comparison.compared_at', 'mailbox_comparison.listed', 'mailbox_comparison.indexed', 'mailbox_comparison.missing', 'mailbox_comparison.extra', 'mailbox_comparison.changed', 'mailbox_comparison.repaired', 'mailbox_comparison.stuck_hours', 'mailbox_comparison.is_doubtful', 'mailbox_comparison.due_set_at'],
  message: ['message.id', 'message.tenant_id', 'message.account_id', 'message.thread_id', 'message.internet_message_id', 'message.identity', 'message.mailbox_ids', 'message.subject', 'message.from', 'message.to', 'message.cc', 'message.bcc', 'message.reply_to', 'message.sender_text', 'message.recipients_text', 'message.snippet', 'message.received_at', 'message.sent_at', 'message.is_read', 'message.is_flagged', 'message.is_draft', 'message.has_attachments', 'message.categories', 'message.direction', 'message.outbox_id', 'message.reference', 'message.importance', 'message.size', 'message.missing_look', 'message.remote_id', 'message.draft_id', 'message.draft_generation', 'message.content_version', 'message.kept_until', 'message.answered_outbox_id', 'message.classification', 'message.may_be_report', 'message.draft_key', 'message.draft_revision', 'message.draft_digest', 'message.may_be_invitation'],
  message_blob: ['message_blob.id', 'message_blob.tenant_id', 'message_blob.account_id', 'message_blob.message_id', 'message_blob.bytes', 'message_blob.created_at', 'message_blob.is_indexed'],
  message_copy: ['message_copy.message_id', 'message_copy.number', 'message_copy.sealed'],
  message_mailbox: ['message_mailbox.mailbox_id', 'message_mailbox.received_at', 'message_mailbox.message_id', 'message_mailbox.uid'],
  message_search: ['message_search.message_id', 'message_search.account_id', 'message_search.received_at', 'message_search.document', 'message_search.version'],
  oauth_app: ['oauth_app.id', 'oauth_app.tenant_id', 'oauth_app.provider', 'oauth_app.cloud', 'oauth_app.name', 'oauth_app.client_id', 'oauth_app.credential_type', 'oauth_app.secret', 'oauth_app.scopes', 'oauth_app.push_topic', 'oauth_app.push_subscription', 'oauth_app.push_service_account', 'oauth_app.created_at', 'oauth_app.updated_at', 'oauth_app.certificate'],
  oauth_grant: ['oauth_grant.account_id', 'oauth_grant.id', 'oauth_grant.provider', 'oauth_grant.client_id', 'oauth_grant.scopes', 'oauth_grant.version', 'oauth_grant.refresh_token', 'oauth_grant.previous_refresh_token', 'oauth_grant.previous_until', 'oauth_grant.access_token', 'oauth_grant.issued_at', 'oauth_grant.expires_at', 'oauth_grant.refresh_at', 'oauth_grant.refreshing_by', 'oauth_grant.refreshing_until', 'oauth_grant.failures', 'oauth_grant.failure', 'oauth_grant.failure_reason', 'oauth_grant.retry_at', 'oauth_grant.refused_at', 'oauth_grant.created_at', 'oauth_grant.retry_set_at', 'oauth_grant.spread_after'],
  outbox: ['outbox.id', 'outbox.tenant_id', 'outbox.account_id', 'outbox.status', 'outbox.from', 'outbox.to', 'outbox.cc', 'outbox.bcc', 'outbox.reply_to', 'outbox.subject', 'outbox.snippet', 'outbox.has_attachments', 'outbox.size', 'outbox.importance', 'outbox.in_reply_to', 'outbox.forward_of', 'outbox.draft_id', 'outbox.reference', 'outbox.thread_id', 'outbox.internet_message_id', 'outbox.waiting', 'outbox.rejected', 'outbox.send_at', 'outbox.due_at', 'outbox.attempts', 'outbox.error_reason', 'outbox.error_message', 'outbox.dated_at', 'outbox.phase', 'outbox.claim', 'outbox.claimed_by', 'outbox.handed_over_at', 'outbox.trace', 'outbox.task', 'outbox.task_at', 'outbox.task_tries', 'outbox.task_by', 'outbox.copy_searches', 'outbox.copy_filed_at', 'outbox.filed_copy', 'outbox.sent_at', 'outbox.ended_at', 'outbox.created_at', 'outbox.updated_at', 'outbox.draft_version', 'outbox.template_id', 'outbox.list_id', 'outbox.mail_merge_id', 'outbox.track_opens', 'outbox.track_clicks', 'outbox.is_paced', 'outbox.losses', 'outbox.sent_key', 'outbox.was_absent', 'outbox.held_since', 'outbox.due_set_at', 'outbox.task_set_at', 'outbox.is_scheduled', 'outbox.may_be_prepared', 'outbox.origin', 'outbox.event_id'],
  outbox_content: ['outbox_content.id', 'outbox_content.account_id', 'outbox_content.outbox_id', 'outbox_content.layout', 'outbox_content.bytes', 'outbox_content.created_at', 'outbox_content.tail_id'],
  outbox_piece: ['outbox_piece.content_id', 'outbox_piece.number', 'outbox_piece.sealed'],
  pending_answer: ['pending_answer.message_id', 'pending_answer.tenant_id', 'pending_answer.account_id', 'pending_answer.due_at', 'pending_answer.attempts', 'pending_answer.claimed_by', 'pending_answer.created_at', 'pending_answer.due_set_at'],
  pending_invitation: ['pending_invitation.message_id', 'pending_invitation.tenant_id', 'pending_invitation.account_id', 'pending_invitation.due_at', 'pending_invitation.due_set_at', 'pending_invitation.attempts', 'pending_invitation.claimed_by', 'pending_invitation.created_at'],
  plan: ['plan.id', 'plan.name', 'plan.api_calls_per_minute', 'plan.api_calls_per_minute_per_key', 'plan.max_accounts', 'plan.body_storage_allowed', 'plan.storage_bytes', 'plan.created_at', 'plan.sends_per_day', 'plan.modules', 'plan.webhook_endpoints'],
  quarantined_calendar_event: ['quarantined_calendar_event.calendar_id', 'quarantined_calendar_event.account_id', 'quarantined_calendar_event.provider_key', 'quarantined_calendar_event.version', 'quarantined_calendar_event.reason', 'quarantined_calendar_event.reader_version', 'quarantined_calendar_event.next_attempt_at'],
  quarantined_contact: ['quarantined_contact.account_id', 'quarantined_contact.folder_id', 'quarantined_contact.provider_key', 'quarantined_contact.version', 'quarantined_contact.reason', 'quarantined_contact.reader_version', 'quarantined_contact.next_attempt_at'],
  quarantined_message: ['quarantined_message.account_id', 'quarantined_message.uid', 'quarantined_message.reason', 'quarantined_message.attempts', 'quarantined_message.parser_version', 'quarantined_message.first_failed_at', 'quarantined_message.next_attempt_at', 'quarantined_message.source', 'quarantined_message.remote_id', 'quarantined_message.attempt_set_at'],
  quota_use: ['quota_use.name', 'quota_use.seconds', 'quota_use.units'],
  rate_window: ['rate_window.name', 'rate_window.number', 'rate_window.count'],
  recurring_task: ['recurring_task.name', 'recurring_task.due_at', 'recurring_task.claimed_by'],
  schema_migration: ['schema_migration.version', 'schema_migration.name', 'schema_migration.checksum', 'schema_migration.applied_at', 'schema_migration.serves', 'schema_migration.release', 'schema_migration.is_finished'],
  sealed_value: ['sealed_value.name', 'sealed_value.sealed'],
  sending_account: ['sending_account.account_id', 'sending_account.tenant_id', 'sending_account.due_at', 'sending_account.paused_until', 'sending_account.pauses', 'sending_account.troubled_since', 'sending_account.pause_reason', 'sending_account.pause_message', 'sending_account.served_at', 'sending_account.files_copies', 'sending_account.message_bytes_max', 'sending_account.due_set_at', 'sending_account.pause_set_at'],
  sending_epoch: ['sending_epoch.is_only', 'sending_epoch.epoch'],
  sent_message: ['sent_message.account_id', 'sent_message.internet_message_id', 'sent_message.outbox_id', 'sent_message.reference', 'sent_message.list_id', 'sent_message.remote_id'],
  settings_announcement: ['settings_announcement.id', 'settings_announcement.tenant_id', 'settings_announcement.before', 'settings_announcement.after_id', 'settings_announcement.created_at'],
  suppression_entry: ['suppression_entry.list_key', 'suppression_entry.address', 'suppression_entry.id', 'suppression_entry.source', 'suppression_entry.reason', 'suppression_entry.created_at'],
  suppression_list: ['suppression_list.key', 'suppression_list.tenant_id', 'suppression_list.id', 'suppression_list.name', 'suppression_list.description', 'suppression_list.unsubscribe', 'suppression_list.bounce', 'suppression_list.api', 'suppression_list.reply', 'suppression_list.complaint', 'suppression_list.inactive', 'suppression_list.created_at', 'suppression_list.deleted_at'],
  suppression_review: ['suppression_review.id', 'suppression_review.tenant_id', 'suppression_review.list_id', 'suppression_review.address', 'suppression_review.source', 'suppression_review.account_id', 'suppression_review.message_id', 'suppression_review.outbox_id', 'suppression_review.probability', 'suppression_review.alternate_contacts', 'suppression_review.created_at'],
  sync_cursor: ['sync_cursor.account_id', 'sync_cursor.source', 'sync_cursor.cursor', 'sync_cursor.suspected_at'],
  template: ['template.id', 'template.tenant_id', 'template.account_id', 'template.name', 'template.description', 'template.source', 'template.external_ref', 'template.subject', 'template.html', 'template.text', 'template.preview_text', 'template.format', 'template.created_at', 'template.updated_at'],
  tenant: ['tenant.id', 'tenant.name', 'tenant.settings', 'tenant.suspended_at', 'tenant.created_at', 'tenant.plan_id', 'tenant.past_due_at', 'tenant.links_off_at', 'tenant.resumed_at'],
  tenant_sends: ['tenant_sends.tenant_id', 'tenant_sends.day', 'tenant_sends.count'],
  tenant_storage: ['tenant_storage.tenant_id', 'tenant_storage.bytes'],
  thread_link: ['thread_link.account_id', 'thread_link.reference', 'thread_link.thread_id'],
  tracked_send: ['tracked_send.outbox_id', 'tracked_send.account_id', 'tracked_send.links', 'tracked_send.items', 'tracked_send.opens', 'tracked_send.machine_opens', 'tracked_send.first_opened_at', 'tracked_send.last_opened_at', 'tracked_send.clicks', 'tracked_send.machine_clicks', 'tracked_send.first_clicked_at', 'tracked_send.last_clicked_at', 'tracked_send.link_clicks', 'tracked_send.judge_failures', 'tracked_send.judge_due_at', 'tracked_send.judge_set_at'],
  tracking_item: ['tracking_item.id', 'tracking_item.outbox_id', 'tracking_item.account_id', 'tracking_item.tenant_id', 'tracking_item.kind', 'tracking_item.link', 'tracking_item.client', 'tracking_item.sign', 'tracking_item.ip', 'tracking_item.user_agent', 'tracking_item.occurred_at', 'tracking_item.is_machine', 'tracking_item.machine_reason'],
  usage_count: ['usage_count.tenant_id', 'usage_count.day', 'usage_count.what', 'usage_count.count'],
  usage_day: ['usage_day.tenant_id', 'usage_day.day', 'usage_day.live_accounts', 'usage_day.read', 'usage_day.write', 'usage_day.send', 'usage_day.admin', 'usage_day.sends', 'usage_day.webhook_deliveries', 'usage_day.ai_calls', 'usage_day.stored_bytes'],
  webhook_attempt: ['webhook_attempt.endpoint_id', 'webhook_attempt.id', 'webhook_attempt.tenant_id', 'webhook_attempt.event_id', 'webhook_attempt.event_type', 'webhook_attempt.account_id', 'webhook_attempt.attempt', 'webhook_attempt.status_code', 'webhook_attempt.error', 'webhook_attempt.response_excerpt', 'webhook_attempt.duration_ms', 'webhook_attempt.is_replay', 'webhook_attempt.is_test', 'webhook_attempt.occurred_at'],
  webhook_delivery: ['webhook_delivery.endpoint_id', 'webhook_delivery.event_id', 'webhook_delivery.tenant_id', 'webhook_delivery.account_id', 'webhook_delivery.priority', 'webhook_delivery.queued_at', 'webhook_delivery.due_at', 'webhook_delivery.held_until', 'webhook_delivery.held_at', 'webhook_delivery.attempts', 'webhook_delivery.tries', 'webhook_delivery.replays', 'webhook_delivery.test_type', 'webhook_delivery.test_body', 'webhook_delivery.due_set_at'],
  webhook_dispatch: ['webhook_dispatch.endpoint_id', 'webhook_dispatch.tenant_id', 'webhook_dispatch.due_at', 'webhook_dispatch.served_at', 'webhook_dispatch.owner', 'webhook_dispatch.in_flight_max', 'webhook_dispatch.acknowledged', 'webhook_dispatch.failures', 'webhook_dispatch.probes', 'webhook_dispatch.probe_at', 'webhook_dispatch.probed_event_id', 'webhook_dispatch.paused_until', 'webhook_dispatch.failed_attempts', 'webhook_dispatch.failed_event_ids', 'webhook_dispatch.is_releasing', 'webhook_dispatch.holds_cleared_at', 'webhook_dispatch.give_up_before', 'webhook_dispatch.due_set_at', 'webhook_dispatch.probe_set_at', 'webhook_dispatch.pause_set_at'],
  webhook_endpoint: ['webhook_endpoint.id', 'webhook_endpoint.tenant_id', 'webhook_endpoint.url', 'webhook_endpoint.description', 'webhook_endpoint.filters', 'webhook_endpoint.is_enabled', 'webhook_endpoint.disabled_reason', 'webhook_endpoint.last_success_at', 'webhook_endpoint.failing_since', 'webhook_endpoint.secret', 'webhook_endpoint.previous_secret', 'webhook_endpoint.previous_secret_expires_at', 'webhook_endpoint.from_event_id', 'webhook_endpoint.created_at'],
} as const
