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
  initialized_at: Timestamp | null
  calendar_initialized_at: Timestamp | null
  contacts_initialized_at: Timestamp | null
  created_at: Generated<Timestamp>
  updated_at: Generated<Timestamp>
  deleted_at: Timestamp | null
  purge_after: Timestamp | null
  purged_at: Timestamp | null
  owner_instance: string | null
  owner_epoch: Generated<Int8>
  sync_wanted: Generated<string[]>
  wake_window_at: Timestamp | null
  wake_count: Generated<number>
  runtime_state: string | null
  runtime_detail: string | null
  runtime_instance: string | null
  runtime_updated_at: Timestamp | null
  behind_since: Timestamp | null
  failing_since: Timestamp | null
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

export interface BounceTable {
  outbox_id: string
  address: string
  account_id: string
  type: 'hard' | 'soft'
  created_at: Generated<Timestamp>
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
}

export interface FeedEpochTable {
  is_only: Generated<boolean>
  epoch: Generated<string>
  place: Json | null
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
}

export interface InstanceTable {
  id: string
  heartbeat_until: Timestamp
  started_at: Generated<Timestamp>
  roles: Generated<string[]>
  host: string | null
  version: string | null
}

export interface JobTable {
  id: string
  tenant_id: string
  kind: string
  payload: Json
  due_at: Generated<Timestamp>
  attempts: Generated<number>
  claimed_by: string | null
}

export interface MailMergePaceTable {
  id: string
  account_id: string
  interval_seconds: number
  due_at: Timestamp | null
}

export interface MailSettingsTable {
  account_id: string
  tenant_id: string
  sign_by_default: Generated<boolean>
  signature: Json | null
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
  task: 'look_up' | 'file_copy' | 'mark_original' | null
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

export interface Tables {
  account: AccountTable
  account_secret: AccountSecretTable
  account_token: AccountTokenTable
  api_key: ApiKeyTable
  bounce: BounceTable
  changed_key: ChangedKeyTable
  draft_change: DraftChangeTable
  event: EventTable
  event_follower: EventFollowerTable
  feed_epoch: FeedEpochTable
  idempotency_key: IdempotencyKeyTable
  identity: IdentityTable
  instance: InstanceTable
  job: JobTable
  mail_merge_pace: MailMergePaceTable
  mail_settings: MailSettingsTable
  mailbox: MailboxTable
  message: MessageTable
  message_blob: MessageBlobTable
  message_copy: MessageCopyTable
  message_mailbox: MessageMailboxTable
  message_search: MessageSearchTable
  outbox: OutboxTable
  outbox_content: OutboxContentTable
  outbox_piece: OutboxPieceTable
  pending_answer: PendingAnswerTable
  plan: PlanTable
  quarantined_message: QuarantinedMessageTable
  recurring_task: RecurringTaskTable
  schema_migration: SchemaMigrationTable
  sealed_value: SealedValueTable
  sending_account: SendingAccountTable
  sending_epoch: SendingEpochTable
  sent_message: SentMessageTable
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
}
