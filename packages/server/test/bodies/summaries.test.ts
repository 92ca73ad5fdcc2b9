import type { Message, MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Caller } from '../caller.ts'
import { mail, multi } from '../mail/odd/odd-message.ts'
import type { TestApp } from '../open-app.ts'
import type { MailServer } from '../servers/mail-server.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import {
  connectMailbox,
  openSyncApp,
  readFeed,
  readMessages,
  waitForFirstSync,
} from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'

let app: TestApp
beforeAll(async () => {
  app = await openSyncApp({ roles: ['api', 'sync', 'jobs'] })
})
afterAll(() => app[Symbol.asyncDispose]())
const useIt = useServer(SERVER_KINDS[0].start)

/** Connects a mailbox that has these messages, in a tenant of its own, until the end of the test. */
async function connect(server: MailServer, raws: readonly Buffer[], settings?: Record<string, unknown>) {
  const user = await server.addUser()
  await using world = await openWorld(server, user)
  await world.deliver(raws.map(raw => ({ raw })))
  const caller: Caller = await app.createTenant(user.user)
  const accountId = await connectMailbox(caller, server, user, settings)
  await waitForFirstSync(caller, accountId)
  return {
    caller,
    accountId,
    [Symbol.asyncDispose]: async () => void (await caller.delete(`/v1/accounts/${accountId}`)),
  }
}

const KILOBYTE = 1024
const LONG = 'A line of words that says nothing at all.\n'.repeat(1000)

/** A message whose first part has no name and follows a text of 42 KB. */
const behind = (part: string) => multi('mixed', [`\n${LONG}`, part])

const ATTACHED: Array<[what: string, hasAttachments: boolean, raw: Buffer]> = [
  ['a message', true, behind('Content-Type: message/rfc822\n\nSubject: inner\n\nHello.')],
  ['an image', true, behind('Content-Type: image/png\n\nPNG')],
  ['bytes', true, behind('Content-Type: application/octet-stream\n\nx')],
  ['TNEF', true, behind('Content-Type: application/ms-tnef\n\nx')],
  ['a text with a name', true, behind('Content-Type: text/plain; name=b.txt\n\nx')],
  ['an image without a disposition', true, behind('Content-Type: image/png\nContent-ID: <a>\n\nPNG')],
  [
    'an inline image',
    false,
    behind('Content-Type: image/png; name=a.png\nContent-Disposition: inline\n\nPNG'),
  ],
  ['a second text', false, behind('Content-Type: text/plain\n\nx')],
  ['a delivery report', false, behind('Content-Type: message/delivery-status\n\nReporting-MTA: dns; a.test')],
  [
    'a read receipt',
    false,
    behind('Content-Type: message/disposition-notification\n\nDisposition: displayed'),
  ],
  ['one file', true, mail('Content-Type: application/pdf', 'x'.repeat(40 * KILOBYTE))],
]

describe.each([SERVER_KINDS[0], SERVER_KINDS[2]])('on $name', ({ start }) => {
  const useKind = useServer(start)

  test('finds at first sync whether a long message has attachments', async () => {
    const raws = ATTACHED.map(([what, , raw]) =>
      Buffer.from(raw.toString('latin1').replace('Subject: odd', `Subject: ${what}`), 'latin1'),
    )
    await using account = await connect(useKind(), raws)
    const { caller, accountId } = account

    const listed = await readMessages(caller, accountId)
    const found = new Map(listed.map(({ subject, hasAttachments }) => [subject, hasAttachments]))
    for (const [what, hasAttachments] of ATTACHED) expect(found.get(what), what).toBe(hasAttachments)
    const url = `/v1/accounts/${accountId}/messages`
    const filtered = await caller.get<{ items: MessageSummary[] }>(`${url}?hasAttachments=true`)
    expect(filtered.body.items.map(({ subject }) => subject).toSorted()).toEqual(
      ATTACHED.flatMap(([what, has]) => (has ? [what] : [])).toSorted(),
    )
    const { cursor } = await readFeed(caller)
    for (const { id, subject, hasAttachments } of listed) {
      const { body } = await caller.get<Message>(`${url}/${id}`)
      expect(body.hasAttachments, subject ?? '').toBe(hasAttachments)
    }
    expect((await readFeed(caller, cursor)).events).toEqual([])
  })
})

test.each([
  [
    'a style sheet of 30 KB',
    mail('Content-Type: text/html', `<style>${'p {}\n'.repeat(6000)}</style><p>The text.`),
  ],
  ['a header of 30 KB', mail(`X-Long: ${'x'.repeat(30_000)}`, 'The text.')],
  ['a header that ends with the 16th KB', mail(`X-Long: ${'x'.repeat(16_100)}`, 'The text.')],
  [
    'a header of a part that is longer',
    multi('alternative', [
      `X-Long: ${'x'.repeat(20_000)}\n\nThe text.`,
      'Content-Type: text/html\n\n<p>The text.',
    ]),
  ],
])('shows the beginning of a text that follows %s', async (_, raw) => {
  await using account = await connect(useIt(), [raw])
  expect(await readMessages(account.caller, account.accountId)).toMatchObject([{ snippet: 'The text.' }])
})

const FAR = multi('mixed', [
  `Content-Type: application/pdf\nContent-Disposition: inline; filename=a.pdf\n\n${'x'.repeat(300 * KILOBYTE)}`,
  '\nWords behind a file.',
])
/** Becomes an attachment once it is known to exceed the size of a body. */
const HUGE = mail('Content-Type: text/html', `<p>Words of a novel. ${'x'.repeat(6 * KILOBYTE * KILOBYTE)}`)

async function search(caller: Caller, accountId: string, word: string) {
  const url = `/v1/accounts/${accountId}/search/messages?source=index&q=${word}`
  const { body } = await caller.get<{ items: MessageSummary[] }>(url)
  return body.items.length
}

test.each(['none', 'cache', 'full'])(
  'corrects a summary when the whole message is read, and announces it, with bodyStorage %s',
  async bodyStorage => {
    const settings = { bodyStorage: 'none', syncWindowDays: null }
    await using account = await connect(useIt(), [FAR, HUGE], settings)
    const { caller, accountId } = account
    const before = await readMessages(caller, accountId)
    expect(before.map(({ snippet, hasAttachments }) => [snippet, hasAttachments])).toEqual(
      expect.arrayContaining([
        ['', true],
        [expect.stringContaining('Words of a novel.'), false],
      ]),
    )
    const { cursor } = await readFeed(caller)

    await caller.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage } })
    if (bodyStorage !== 'full') {
      for (const { id } of before) {
        const { body } = await caller.get<Message>(`/v1/accounts/${accountId}/messages/${id}`)
        expect([body.snippet.slice(0, 20), body.hasAttachments]).toEqual([
          expect.stringContaining('Words'),
          true,
        ])
      }
    }
    const updated = await waitUntil('both corrections', async () => {
      const { events } = await readFeed(caller, cursor)
      const found = events.filter(({ type }) => type === 'message.updated')
      return found.length >= 2 && found
    })
    expect(
      updated.map(({ data }) => [
        data.changes,
        data.message?.hasAttachments,
        data.message?.snippet.slice(0, 20),
      ]),
    ).toEqual(
      expect.arrayContaining([
        [['snippet'], true, 'Words behind a file.'],
        [['hasAttachments'], true, 'Words of a novel. xx'],
      ]),
    )
    expect(updated).toHaveLength(2)
    expect((await readMessages(caller, accountId)).map(({ hasAttachments }) => hasAttachments)).toEqual([
      true,
      true,
    ])
    await waitUntil('the words', async () => (await search(caller, accountId, 'behind')) === 1)
  },
)

/** Whether a statement waits for a lock that this server process holds. */
async function isWaitedFor({ db }: TestApp, pid: number): Promise<boolean> {
  const { rows } = await sql`
    select from pg_stat_activity where datname = current_database() and ${pid}::int = any(pg_blocking_pids(pid))
  `.execute(db)
  return rows.length > 0
}

test.each([
  ['message', 'id'],
  ['message_search', 'message_id'],
])('reads a message whose row of %s is locked, and corrects its summary later', async (table, column) => {
  await using account = await connect(useIt(), [FAR], { bodyStorage: 'none' })
  const { caller, accountId } = account
  const [{ id } = { id: '' }] = await readMessages(caller, accountId)
  const url = `/v1/accounts/${accountId}/messages/${id}`
  const other = await app.database.pool.connect()
  try {
    await other.query('begin')
    await other.query('set local idle_in_transaction_session_timeout = 0')
    const { rows } = await other.query<{ pid: number }>('select pg_backend_pid() as pid')
    await other.query(`select from ${table} where ${column} = $1 for update`, [id])
    let isAnswered = false
    const answer = caller.get(url).finally(() => (isAnswered = true))
    const outcome = await waitUntil('an answer', async () =>
      isAnswered ? 'answered' : (await isWaitedFor(app, rows[0]!.pid)) && 'waiting',
    )
    expect(outcome).toBe('answered')
    expect(await answer).toMatchObject({ status: 200, body: { snippet: 'Words behind a file.' } })
    expect(await readMessages(caller, accountId)).toMatchObject([{ snippet: '' }])
    // The sync deletes the message like this, and its document with it.
    await other.query('delete from message where id = $1', [id])
    await other.query('rollback')
  } finally {
    other.release(true)
  }
  expect((await caller.get(url)).status).toBe(200)
  expect(await readMessages(caller, accountId)).toMatchObject([{ snippet: 'Words behind a file.' }])
})
