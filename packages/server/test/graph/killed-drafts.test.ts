import type { Message, MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { useServer } from '../servers/shared-server.ts'
import { readFeed, readMessages } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { fileOf } from './attached-file.ts'
import { type KillableAccount, type Moment, openKillableGraph } from './killable-graph.ts'
import { casesFor } from '../soak.ts'

const opened = useServer(() => openKillableGraph())

/** Attached by a request, since the whole is over 2 MiB. */
const ATTACHED_BYTES = 2_100_000
/** Attached in a session. */
const IN_SESSION_BYTES = 3_000_001

/** A draft for each moment at which the service is killed, and the content that it has then. */
const ALL: Readonly<Record<string, { moment: Moment; bytes?: number; kept: 'first' | 'second' }>> = {
  made: { moment: requestOf('POST', '*/messages', true), kept: 'first' },
  'file held back': { moment: requestOf('POST', '*/attachments', false), kept: 'first' },
  'file attached': { moment: requestOf('POST', '*/attachments', true), kept: 'first' },
  'range put': {
    moment: requestOf('PUT', '*AttachmentSessions*', true),
    bytes: IN_SESSION_BYTES,
    kept: 'first',
  },
  'end held back': { moment: requestOf('PATCH', '*/messages/*', false), kept: 'first' },
  ended: { moment: requestOf('PATCH', '*/messages/*', true), kept: 'second' },
  draft_appended: { moment: 'draft_appended', kept: 'second' },
}

const IN_CI = new Set(['file attached', 'range put', 'ended'])
const WALK = Object.fromEntries(casesFor(Object.entries(ALL), ([name]) => IN_CI.has(name)))

function requestOf(method: string, path: string, isCarriedOut: boolean): Moment {
  return { method, path, isCarriedOut }
}

const contentOf = (name: string, bytes = ATTACHED_BYTES) => ({
  to: [{ address: 'bob@example.com' }],
  subject: name,
  text: name,
  attachments: [fileOf(`${name}.pdf`, bytes)],
})

/** The drafts at Graph: the subject of each, and its files. */
async function draftsOf({ client }: KillableAccount): Promise<string[]> {
  const drafts = await client.all('mailFolders/drafts/messages?$select=id,subject')
  return Promise.all(
    drafts.map(async ({ id, subject }) => {
      const files = await client.all(`messages/${id}/attachments?$select=name,size`)
      return [subject, ...files.map(({ name }) => name)].join(' ')
    }),
  )
}

/** Settles the drafts, in place of waiting until their changes are over. */
async function settle(): Promise<boolean> {
  const { db } = opened()
  await sql`update draft_change set held_until = clock_timestamp() where held_until > clock_timestamp()`.execute(
    db,
  )
  await sql`update job set due_at = clock_timestamp() where due_at > clock_timestamp()`.execute(db)
  const { rows } = await sql`select from job where kind = 'settle_draft'`.execute(db)
  return rows.length === 0
}

test.for(casesFor(['sync', 'job'] as const, first => first === 'job'))(
  'a draft keeps all files of one of its contents under its id, wherever the service is killed while a file is attached, and a %s comes first afterwards',
  { timeout: 300_000 },
  async first => {
    const walk = opened()
    const { caller, sandbox } = walk
    await sandbox.control('PATCH', '/graph', { limits: 'off' })
    const accounts = new Map<string, KillableAccount>()
    const ids = new Map<string, string>()
    for (const [index, name] of Object.keys(WALK).entries()) {
      const account = await walk.connect(`${first}-${index}@office.test`)
      const { status, body } = await caller().post<Message>(`${account.path}/drafts`, contentOf('first'))
      expect({ name, status }).toEqual({ name, status: 200 })
      accounts.set(name, account)
      ids.set(name, body.id)
    }
    for (const [name, { moment, bytes }] of Object.entries(WALK)) {
      const path = `${accounts.get(name)!.path}/drafts/${ids.get(name)}`
      await walk.hold(moment, () => caller().put(path, contentOf('second', bytes)))
    }
    await walk.kill()
    if (first === 'job')
      await sandbox.addFault({ does: 'slow', milliseconds: 2_000, method: 'GET', path: '*/messages/delta*' })
    await walk.restart()

    for (const [name, { kept }] of Object.entries(WALK)) {
      const account = accounts.get(name)!
      const expected = { name, drafts: [`${kept} ${kept}.pdf`], indexed: [`${ids.get(name)} ${kept} true`] }
      let seen: unknown
      const isSettled = async () => {
        await caller().post(`${account.path}/sync`, {})
        if (!(await settle())) return false
        const indexed = await readMessages(caller(), account.accountId)
        const words = ({ id, subject, hasAttachments }: MessageSummary) =>
          `${id} ${subject} ${hasAttachments}`
        seen = { name, drafts: await draftsOf(account), indexed: indexed.map(words) }
        return JSON.stringify(seen) === JSON.stringify(expected)
      }
      await waitUntil(`the draft to be settled after ${name}`, isSettled).catch(() => {})
      expect(seen).toEqual(expected)
    }
    await sandbox.clearFaults()
    const accountIds = new Set([...accounts.values()].map(({ accountId }) => accountId))
    const events = (await readFeed(caller())).events.filter(({ accountId }) => accountIds.has(accountId!))
    expect(events.filter(({ type }) => type === 'message.deleted')).toEqual([])
    expect(events.filter(({ type }) => type === 'message.created')).toHaveLength(ids.size)
  },
)

test('a draft stays under its id if a file of its new content cannot be attached', async () => {
  const { caller, sandbox, connect } = opened()
  const account = await connect('refused@office.test')
  const { body: draft } = await caller().post<Message>(`${account.path}/drafts`, contentOf('first'))
  // The sync can look at the new content meanwhile.
  await sandbox.addFault({
    does: 'slow',
    milliseconds: 2_000,
    method: 'POST',
    path: '*/attachments',
    count: 1,
  })
  await sandbox.addFault({ does: 'error', status: 400, path: '*/createUploadSession', count: 1 })
  const files = [fileOf('a.pdf', ATTACHED_BYTES), fileOf('b.pdf', IN_SESSION_BYTES)]
  const put = await caller().put(`${account.path}/drafts/${draft.id}`, {
    ...contentOf('second'),
    attachments: files,
  })
  expect(put.status).toBeGreaterThanOrEqual(400)
  await waitUntil('the draft to be settled', settle)
  await sandbox.deliver(account.email, 'From: grace@example.com\r\nSubject: Later\r\n\r\nHello\r\n')
  const indexed = await waitUntil('a look', async () => {
    const messages = await readMessages(caller(), account.accountId)
    return messages.some(({ subject }) => subject === 'Later') ? messages : null
  })
  expect(await draftsOf(account)).toEqual(['first first.pdf'])
  expect(indexed.filter(({ isDraft }) => isDraft)).toMatchObject([{ id: draft.id, subject: 'first' }])
})
