import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const SOURCE = path.resolve(import.meta.dirname, '../src')

/** The wing or the room that writes each table. */
const WRITERS: Record<string, readonly string[]> = {
  account: ['accounts'],
  account_half: ['accounts'],
  account_secret: ['accounts'],
  account_token: ['features/tenancy'],
  api_key: ['features/tenancy'],
  audit_chain: ['features/tenancy'],
  audit_entry: ['features/tenancy'],
  audit_open: ['features/tenancy'],
  blob_mark: ['start'],
  blob_sweep: ['features/mail'],
  blob_upload: ['database'],
  bounce: ['features/sending'],
  calendar: ['features/calendars'],
  calendar_channel: ['accounts'],
  calendar_comparison: ['features/calendars'],
  calendar_event: ['features/calendars'],
  calendar_event_body: ['features/calendars'],
  calendar_home: ['features/calendars'],
  calendar_intent: ['features/calendars'],
  calendar_mark: ['features/calendars'],
  calendar_span: ['features/calendars'],
  calendar_taken: ['features/calendars'],
  changed_key: ['features/mail'],
  connect_attempt: ['features/accounts'],
  connect_session: ['features/accounts'],
  contact: ['features/contacts'],
  contact_comparison: ['features/contacts'],
  contact_folder: ['features/contacts'],
  contact_home: ['features/contacts'],
  contact_mark: ['features/contacts'],
  contact_photo: ['features/contacts'],
  draft_change: ['features/sending'],
  event: ['events'],
  event_follower: ['events'],
  feed_epoch: ['database'],
  gmail_watch: ['connections'],
  grant_revocation: ['features/accounts'],
  graph_slot: ['connections'],
  // A later migration drops it.
  graph_subscription: [],
  half_subscription: ['accounts'],
  half_spread: ['accounts'],
  idempotency_key: ['door'],
  identity: ['features/mail'],
  instance: ['processes'],
  job: ['jobs'],
  left_subscription: ['features/accounts'],
  mail_merge_pace: ['features/sending'],
  mail_settings: ['features/mail'],
  mailbox: ['features/mail'],
  mailbox_comparison: ['features/mail'],
  message: ['features/mail'],
  message_blob: ['features/mail'],
  message_copy: ['features/mail'],
  message_mailbox: ['features/mail'],
  message_search: ['features/mail'],
  oauth_app: ['features/accounts'],
  oauth_grant: ['accounts'],
  outbox: ['features/sending'],
  outbox_content: ['features/sending'],
  outbox_piece: ['features/sending'],
  pending_answer: ['features/sending'],
  pending_invitation: ['features/calendars'],
  plan: ['features/tenancy'],
  quarantined_calendar_event: ['features/calendars'],
  quarantined_contact: ['features/contacts'],
  quarantined_message: ['features/mail'],
  quota_use: ['connections'],
  rate_window: ['limits'],
  recurring_task: ['jobs'],
  schema_migration: ['database'],
  sealed_value: ['database'],
  settings_announcement: ['features/accounts'],
  sending_account: ['features/sending'],
  sending_epoch: ['features/sending'],
  sent_message: ['features/mail'],
  suppression_entry: ['features/sending'],
  suppression_list: ['features/sending'],
  suppression_review: ['features/sending'],
  sync_cursor: ['features/mail'],
  template: ['features/sending'],
  tenant: ['features/tenancy'],
  tenant_sends: ['features/sending'],
  tenant_storage: ['features/mail'],
  thread_link: ['features/mail'],
  tracked_send: ['features/sending'],
  tracking_item: ['features/sending'],
  usage_count: ['features/tenancy'],
  usage_day: ['features/tenancy'],
  webhook_attempt: ['features/notifications'],
  webhook_delivery: ['features/notifications'],
  webhook_dispatch: ['features/notifications'],
  webhook_endpoint: ['features/notifications'],
}

const TABLE = /^create (?:unlogged )?table (?:public\.)?"?(\w+)/gim
const WRITES =
  /(?:insert\s+into|update|delete\s+from)\s+(?:only\s+)?"?(\w+)|(?:insertInto|updateTable|deleteFrom|mergeInto)\('(\w+)/g

function read(file: string): string {
  return readFileSync(path.join(SOURCE, file), 'utf8')
}

/** A room by its name, and a wing as `features/mail`. */
function writerOf(file: string): string {
  return /^(?:features\/)?[^/]+/.exec(file)?.[0] ?? ''
}

test('the wing of accounts is not taken for the room of that name', () => {
  const writers = ['accounts/store.ts', 'features/accounts/grants/revocation.ts', 'features/mail/purge.ts']
  expect(writers.map(writerOf)).toEqual(['accounts', 'features/accounts', 'features/mail'])
})

test('each table is written by one wing or room', () => {
  const tables = [...read('database/schema.sql').matchAll(TABLE)].map(([, table = '']) => table)
  const writers = new Map(tables.map(table => [table, new Set<string>()]))
  const files = globSync('**/*.ts', { cwd: SOURCE }).filter(file => !file.endsWith('.test.ts'))
  for (const file of files) {
    for (const [, inSql, inKysely] of read(file).matchAll(WRITES))
      writers.get(inSql ?? inKysely ?? '')?.add(writerOf(file))
  }
  const found = Object.fromEntries([...writers].map(([table, by]) => [table, [...by].toSorted()]))
  expect(found).toEqual(WRITERS)
})

const READS = /\b(?:from|join|using)\s+(?:only\s+)?"?(\w+)|(?:selectFrom|(?:inner|left)Join)\('(\w+)/g

test('the sync names no table of a wing', () => {
  const tables = new Set([...read('database/schema.sql').matchAll(TABLE)].map(([, table = '']) => table))
  const files = globSync('sync/**/*.ts', { cwd: SOURCE }).filter(file => !file.endsWith('.test.ts'))
  const named = files.flatMap(file =>
    [WRITES, READS].flatMap(names =>
      [...read(file).matchAll(names)].flatMap(([, inSql, inKysely]) => inSql ?? inKysely ?? []),
    ),
  )
  expect([...new Set(named.filter(name => tables.has(name)))].toSorted()).toEqual(['account'])
})
