import type { Identity } from '@waxwing/contract/mail/identities.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { directionsHandler } from '../../src/features/mail/messages/directions-job.ts'
import { recordArrivals } from '../../src/features/mail/messages/record-arrivals.ts'
import type { PlacedMailbox } from '../../src/features/mail/messages/rules.ts'
import { newId } from '../../src/kit/ids.ts'
import { lockHalf } from '../../src/accounts/halves/lock.ts'
import { claimAccounts, type OwnedAccount } from '../../src/accounts/halves/ownership.ts'
import { fenceAccount } from '../../src/features/mail/following/fence.ts'
import { openTestApp, type TestApp } from '../open-app.ts'
import { sampleAccount, sampleMailbox } from '../sample-rows.ts'
import { type Random, seeded } from '../seeded.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld, type World } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import { arrivalFrom } from './arrival.ts'
import { foldFeed } from './fold-feed.ts'
import {
  connectMailbox,
  type FeedEvent,
  openSyncApp,
  readFeed,
  readMailboxes,
  readMessages,
  waitForFirstSync,
} from './followed-account.ts'

const ALIAS = 'sales@example.com'
const NEVER = new AbortController().signal

const isLockAwaited = (app: TestApp) =>
  waitUntil('somebody to wait for a lock', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    `.execute(app.db)
    return rows.length > 0
  })

/** An account whose sync this test plays. */
async function openOwned(app: TestApp) {
  const account = await sampleAccount(app.db, app.tenantId, { email: 'ada@example.com' })
  const { id, path } = await sampleMailbox(app.db, account, { role: 'inbox' })
  const instanceId = newId()
  await app.db
    .insertInto('instance')
    .values({ id: instanceId, heartbeat_until: new Date(Date.now() + 600_000) })
    .execute()
  const [owned] = await claimAccounts(app.db, instanceId, 1)
  if (!owned) throw new Error('nothing to claim')
  return {
    owned,
    mailbox: { id, key: path, role: 'inbox' } satisfies PlacedMailbox,
    identities: `/v1/accounts/${account.id}/identities`,
    directions: async () => (await readMessages(app, account.id)).map(({ direction }) => direction),
  }
}

async function runJob(app: TestApp, { id: accountId }: OwnedAccount) {
  await directionsHandler(app.db).run({ accountId }, { tenantId: app.tenantId, signal: NEVER })
}

describe('own addresses', () => {
  test('do not change while a step of the sync records by them, so that the job finds its messages', async () => {
    await using app = await openTestApp()
    const { owned, mailbox, identities, directions } = await openOwned(app)

    const recording = Promise.withResolvers<void>()
    const mayCommit = Promise.withResolvers<void>()
    const step = inTransaction(app.db, app.tenantId, async unit => {
      const { account } = await fenceAccount(unit, owned, [])
      recording.resolve()
      await mayCommit.promise
      await recordArrivals(unit, account, [arrivalFrom(ALIAS, mailbox, 1)], true)
    })
    await recording.promise
    const added = app.post(identities, { address: ALIAS })
    await isLockAwaited(app).finally(mayCommit.resolve)
    await step
    expect((await added).status).toBe(200)

    expect(await directions()).toEqual(['inbound'])
    await runJob(app, owned)
    expect(await directions()).toEqual(['outbound'])
  })

  test('are read by a step of the sync after it waited for a change of them', async () => {
    await using app = await openTestApp()
    const { owned, mailbox, directions } = await openOwned(app)

    const changing = Promise.withResolvers<void>()
    const mayCommit = Promise.withResolvers<void>()
    const change = inTransaction(app.db, app.tenantId, async unit => {
      await lockHalf(unit, owned.id, 'mail')
      await sql`
        insert into identity (id, tenant_id, account_id, address, compared_address)
        values (${newId()}, ${app.tenantId}, ${owned.id}, ${ALIAS}, ${ALIAS})
      `.execute(unit.sql)
      changing.resolve()
      await mayCommit.promise
    })
    await changing.promise
    const step = inTransaction(app.db, app.tenantId, async unit => {
      const { account } = await fenceAccount(unit, owned, [])
      await recordArrivals(unit, account, [arrivalFrom(ALIAS, mailbox, 1)], true)
    })
    await isLockAwaited(app).finally(mayCommit.resolve)
    await Promise.all([change, step])
    expect(await directions()).toEqual(['outbound'])
  })
})

const useIt = useServer(SERVER_KINDS[0].start)

const ROUNDS = 25
const IDN_ALIAS = 'info@xn--bcher-kva.example'
/** Addresses in From, by the identity that makes them own. */
const SPELLINGS: Record<string, string[]> = {
  [ALIAS]: [ALIAS, 'SALES@EXAMPLE.COM'],
  [IDN_ALIAS]: ['info@bücher.example'],
}

/** Adds an identity, or deletes it where the account has it. */
async function toggleIdentity(app: TestApp, path: string, held: Map<string, string>, address: string) {
  const id = held.get(address)
  const { status, body } =
    id === undefined ? await app.post<Identity>(path, { address }) : await app.delete(`${path}/${id}`)
  expect(status).toBe(200)
  if (id === undefined) held.set(address, (body as Identity).id)
  else held.delete(address)
}

/** Delivers some letters and, by chance, files one of them as sent. */
async function deliverSome(world: World, random: Random, from: readonly string[], firstNumber: number) {
  const count = random.between(1, 4)
  const letters = Array.from({ length: count }, (_, index) => {
    const number = firstNumber + index
    const head = `From: ${random.pick(from)}\r\nSubject: ${number}\r\nMessage-ID: <${number}@b.test>`
    return { raw: `${head}\r\n\r\nText\r\n` }
  })
  const isSent = random.chance(0.2)
  const uids = await world.deliver(letters)
  if (isSent) await world.move('INBOX', uids.slice(0, 1), world.at('Sent'))
  return count
}

/** Index and feed of a moment at which the index has every message where it is, and no job is left. */
function comeToRest(app: TestApp, accountId: string, world: World, cursor: string) {
  return waitUntil('index, jobs and feed to come to rest', async () => {
    const { events, cursor: end } = await readFeed(app, cursor)
    const messages = await readMessages(app, accountId)
    const { rows: jobs } = await sql`select from job`.execute(app.db)
    const sentId = (await readMailboxes(app, accountId)).find(({ role }) => role === 'sent')?.id ?? ''
    const inbox = await world.uids('INBOX')
    const sent = await world.uids(world.at('Sent'))
    const inSent = messages.filter(({ mailboxIds }) => mailboxIds.includes(sentId))
    const isEqual = messages.length === inbox.length + sent.length && inSent.length === sent.length
    if (!isEqual || jobs.length > 0 || (await readFeed(app, end)).events.length > 0) return null
    return { messages, events, sentId }
  })
}

/** Refuses an event that names the direction of a message that was announced with the same one before. */
function requireTurns(events: readonly FeedEvent[]) {
  const directions = new Map<string, string>()
  for (const { data } of events) {
    if (!data.message) continue
    const { id, direction } = data.message
    if (data.changes?.includes('direction')) expect(direction).not.toBe(directions.get(id))
    directions.set(id, direction)
  }
}

test.each([1, 2])(
  'directions are right and announced once while mail arrives, is filed as sent, and identities come and go (seed %i)',
  async seed => {
    const random = seeded(seed)
    const server = useIt()
    const user = await server.addUser()
    await using world = await openWorld(server, user)
    await using app = await openSyncApp({ roles: ['api', 'sync', 'jobs'] })
    const accountId = await connectMailbox(app, server, user)
    await waitForFirstSync(app, accountId)
    const mailboxes = new Map((await readMailboxes(app, accountId)).map(mailbox => [mailbox.id, mailbox]))
    const { cursor } = await readFeed(app)

    const from = [...Object.values(SPELLINGS).flat(), 'eve@evil.test', user.email]
    const held = new Map<string, string>()
    for (let round = 0, delivered = 0; round < ROUNDS; round += 1) {
      const address = random.pick(Object.keys(SPELLINGS))
      const [count] = await Promise.all([
        deliverSome(world, random, from, delivered),
        toggleIdentity(app, `/v1/accounts/${accountId}/identities`, held, address),
      ])
      delivered += count
    }

    const { messages, events, sentId } = await comeToRest(app, accountId, world, cursor)
    const own = new Set([user.email, ...[...held.keys()].flatMap(address => SPELLINGS[address] ?? [])])
    for (const { subject, from: sender, mailboxIds, direction } of messages) {
      const isOutbound = mailboxIds.includes(sentId) || own.has(sender?.address ?? '')
      expect({ subject, direction }).toEqual({ subject, direction: isOutbound ? 'outbound' : 'inbound' })
    }
    const folded = foldFeed({ mailboxes, messages: new Map() }, events)
    expect(folded.messages).toEqual(new Map(messages.map(message => [message.id, message])))
    requireTurns(events)
  },
)
