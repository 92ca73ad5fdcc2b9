import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const SOURCE = path.resolve(import.meta.dirname, '../src')

/** The wing or the room that writes each table. */
const WRITERS: Record<string, readonly string[]> = {
  account: ['accounts'],
  account_half: ['accounts'],
  account_secret: ['accounts'],
  account_token: ['tenancy'],
  api_key: ['tenancy'],
  audit_chain: ['tenancy'],
  audit_entry: ['tenancy'],
  audit_open: ['tenancy'],
  blob_mark: ['start'],
  blob_sweep: ['mail'],
  blob_upload: ['database'],
  bounce: ['sending'],
  changed_key: ['mail'],
  connect_attempt: ['features/accounts'],
  connect_session: ['features/accounts'],
  draft_change: ['sending'],
  event: ['events'],
  event_follower: ['events'],
  feed_epoch: ['database'],
  gmail_watch: ['connections'],
  grant_revocation: ['features/accounts'],
  idempotency_key: ['door'],
  identity: ['mail'],
  instance: ['processes'],
  job: ['jobs'],
  mail_merge_pace: ['sending'],
  mail_settings: ['mail'],
  mailbox: ['mail'],
  mailbox_comparison: ['mail'],
  message: ['mail'],
  message_blob: ['mail'],
  message_copy: ['mail'],
  message_mailbox: ['mail'],
  message_search: ['mail'],
  oauth_app: ['features/accounts'],
  oauth_grant: ['accounts'],
  outbox: ['sending'],
  outbox_content: ['sending'],
  outbox_piece: ['sending'],
  pending_answer: ['sending'],
  plan: ['tenancy'],
  quarantined_message: ['mail'],
  quota_use: ['connections'],
  rate_window: ['limits'],
  recurring_task: ['jobs'],
  schema_migration: ['database'],
  sealed_value: ['database'],
  settings_announcement: ['features/accounts'],
  sending_account: ['sending'],
  sending_epoch: ['sending'],
  sent_message: ['mail'],
  suppression_entry: ['sending'],
  suppression_list: ['sending'],
  suppression_review: ['sending'],
  sync_cursor: ['mail'],
  template: ['sending'],
  tenant: ['tenancy'],
  tenant_sends: ['sending'],
  tenant_storage: ['mail'],
  thread_link: ['mail'],
  tracked_send: ['sending'],
  tracking_item: ['sending'],
  usage_count: ['tenancy'],
  usage_day: ['tenancy'],
  webhook_attempt: ['notifications'],
  webhook_delivery: ['notifications'],
  webhook_dispatch: ['notifications'],
  webhook_endpoint: ['notifications'],
}

const TABLE = /^create (?:unlogged )?table (?:public\.)?"?(\w+)/gim
const WRITES =
  /(?:insert\s+into|update|delete\s+from)\s+(?:only\s+)?"?(\w+)|(?:insertInto|updateTable|deleteFrom|mergeInto)\('(\w+)/g

function read(file: string): string {
  return readFileSync(path.join(SOURCE, file), 'utf8')
}

const ROOMS = new Set(globSync('*/', { cwd: SOURCE }))

/**
 * `features/mail/search/record.ts` is of mail, `accounts/halves/ownership.ts` of the room accounts, and
 * `features/accounts/grants/revocation.ts` of the wing of that name.
 */
function writerOf(file: string): string {
  const [room = '', wing = ''] = path.dirname(file).split('/')
  if (room !== 'features') return room
  return ROOMS.has(wing) ? `${room}/${wing}` : wing
}

test('the wing of accounts is not taken for the room of that name', () => {
  const writers = ['accounts/store.ts', 'features/accounts/grants/revocation.ts', 'features/mail/purge.ts']
  expect(writers.map(writerOf)).toEqual(['accounts', 'features/accounts', 'mail'])
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
