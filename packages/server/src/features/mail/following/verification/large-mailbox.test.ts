import { type KyselyPlugin, sql } from 'kysely'
import { expect, test } from 'vitest'
import { measureLiveMemory } from '../../../../../test/live-memory.ts'
import { openSession, ownAccount } from '../../../../../test/memory-account.ts'
import { openTestDatabase } from '../../../../../test/open-database.ts'
import { sampleMailbox } from '../../../../../test/sample-rows.ts'
import type { Db } from '../../../../database/pool.ts'
import { findComparisons } from '../../comparisons/store.ts'
import type { FollowedSource } from '../../messages/rules.ts'
import type { ListedMessage, Located, MailProvider, RemoteMailbox } from '../../../../providers/mail.ts'
import type { OwnedAccount } from '../../../../accounts/halves/ownership.ts'
import { BulkPermits } from '../../../../sync/bulk-permits.ts'
import { Verification } from './verification.ts'

const MESSAGES = Number(process.env['WAXWING_TEST_MAILBOX'] ?? 20_000)
const HELD_MB = 200
/**
 * So much that listed messages far exceed what may be held if all of them are kept (480 MB), and that the pages which
 * are read, compared and freed at a time (some 60 MB) do not.
 */
const LISTED_BYTES = 24_000
const PAGE_MESSAGES = 500
const ROWS_AT_ONCE = 20_000
/** For each thousand messages that are looked up, and each page of either side; the rest is the same for any mailbox. */
const STATEMENTS_MAX = MESSAGES / 1_000 + MESSAGES / PAGE_MESSAGES + 100

/** The index has it, and the provider does not. */
const EXTRA = 10
const MISSING = 20
const CHANGED = 30

const mailbox: RemoteMailbox = {
  key: 'INBOX',
  providerId: null,
  name: 'INBOX',
  path: 'INBOX',
  parentKey: null,
  role: 'inbox',
  kind: 'folder',
  totalCount: MESSAGES,
  unreadCount: null,
  source: 'INBOX',
  state: null,
}

function listed(uid: number): ListedMessage {
  const flags = { isRead: uid % 2 === 0, isFlagged: uid === CHANGED, isDraft: false, categories: [] }
  const heavy = Object.assign(flags, { ballast: new Uint8Array(LISTED_BYTES) })
  return { key: uid, flags: heavy, mailboxKeys: [mailbox.key], receivedAt: null }
}

const notAsked = () => {
  throw new Error('A comparison does not call it')
}

/** A server whose mailbox holds the numbers from 1, and is made up as it is read. */
const provider: MailProvider = {
  mailboxesLeftOut: 0,
  isPushed: false,
  listMailboxes: async () => [mailbox],
  hasChanged: () => false,
  async *compare() {},
  async *arrivals() {},
  isComplete: () => true,
  narrow: cursor => cursor,
  isRenamed: () => false,
  watch: notAsked,
  async locate(_, keys) {
    const there = keys.filter(key => key !== EXTRA)
    const found: Located['found'] = new Map(
      there.map(key => {
        const { flags, mailboxKeys } = listed(Number(key))
        return [key, { flags: flags!, mailboxKeys }]
      }),
    )
    return { found, gone: keys.filter(key => key === EXTRA), unreadable: [] }
  },
  async list(_, { after }) {
    const from = Number(after?.['uid'] ?? 1)
    const to = Math.min(from + PAGE_MESSAGES, MESSAGES + 1)
    const uids = Array.from({ length: to - from }, (__, nth) => from + nth).filter(uid => uid !== EXTRA)
    return { messages: uids.map(listed), next: to > MESSAGES ? null : { uid: to } }
  },
}

/** Indexes the mailbox, with the three faults. */
async function addIndex(db: Db, { id, tenantId }: OwnedAccount): Promise<FollowedSource> {
  const made = await sampleMailbox(db, { id, tenantId }, { name: 'INBOX', role: 'inbox' })
  for (let first = 1; first <= MESSAGES; first += ROWS_AT_ONCE)
    await sql`
    with added as (
      insert into message (id, tenant_id, account_id, identity, mailbox_ids, "to", cc, bcc, reply_to, sender_text,
        recipients_text, snippet, received_at, is_read, is_flagged, is_draft, has_attachments, categories, direction,
        size)
      select gen_random_uuid(), ${tenantId}::uuid, ${id}::uuid, gen_random_uuid(), array[${made.id}::uuid], '[]', '[]',
        '[]', '[]', '', '', '', timestamptz '2026-01-01' + uid * interval '1 second', uid % 2 = 0, false, false, false,
        '{}', 'inbound', uid
      from generate_series(${first}::int, ${Math.min(MESSAGES, first + ROWS_AT_ONCE - 1)}::int) as uid
      where uid <> ${MISSING}
      returning id, received_at, size
    )
    insert into message_mailbox (mailbox_id, received_at, message_id, uid)
    select ${made.id}::uuid, received_at, id, size from added
  `.execute(db)
  await sql`insert into sync_cursor (account_id, source, cursor) values (${id}, 'INBOX', '{}')`.execute(db)
  await sql`update account_half set initialized_at = clock_timestamp() where account_id = ${id}`.execute(db)
  await sql`analyze message, message_mailbox`.execute(db)
  return { source: 'INBOX', mailboxes: [{ id: made.id, key: mailbox.key, role: 'inbox' }] }
}

function countingStatements(): KyselyPlugin & { count: number } {
  return {
    count: 0,
    transformQuery({ node }) {
      this.count++
      return node
    },
    transformResult: async ({ result }) => result,
  }
}

test('a large mailbox is compared with few statements and little memory, and its differences are found', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const owned = await ownAccount(db)
  const followed = await addIndex(db, owned)
  const { id: mailboxId } = followed.mailboxes[0]!
  await sql`
    insert into mailbox_comparison (mailbox_id, account_id, due_at)
    values (${mailboxId}, ${owned.id}, clock_timestamp())
  `.execute(db)
  const statements = countingStatements()
  const session = {
    ...(await openSession(db, owned, provider)),
    db: db.withPlugin(statements),
    mailboxes: new Map(followed.mailboxes.map(one => [one.key, one])),
  }
  const verification = new Verification()
  const pass = async () => ({ hasMore: false, pause: null })
  const options = { bulkPermits: new BulkPermits(1), pass, mustStop: () => false }
  const compare = async () => {
    // Each call reads for some seconds.
    for (;;) {
      await verification.proceed(session, [followed], options)
      const [comparison] = await findComparisons(db, owned.id)
      if (comparison?.comparedAt) return comparison
    }
  }

  const { result, grownMb } = await measureLiveMemory(compare)

  const found = { missing: 1, extra: 1, changed: 1, listed: MESSAGES - 1, indexed: MESSAGES - 1 }
  expect(result).toMatchObject(found)
  expect(statements.count).toBeLessThan(STATEMENTS_MAX)
  expect(grownMb).toBeLessThan(HELD_MB)
})
