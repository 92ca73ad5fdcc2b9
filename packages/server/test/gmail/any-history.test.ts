import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Db } from '../../src/database/pool.ts'
import { ProviderFailure } from '../../src/providers/failure.ts'
import { QuotaGovernor } from '../../src/providers/google/governor.ts'
import type { MailProvider } from '../../src/providers/mail.ts'
import type { OwnedAccount } from '../../src/accounts/halves/ownership.ts'
import { lineOf } from '../mail-worlds.ts'
import {
  type FeedEvent,
  type IndexedMessage,
  ownAccount,
  pass,
  readFeed,
  readIndex,
  readPlaces,
} from '../memory-account.ts'
import { openTestDatabase } from '../open-database.ts'
import { type Random, seeded } from '../seeded.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { useServer } from '../servers/shared-server.ts'
import { seedsFor } from '../sync/disturbance.ts'
import { configureGmail, type GmailClient, openGmailClient } from './gmail-client.ts'
import { reachSandbox, tokensFor } from './reach-sandbox.ts'

const ROUNDS = 12
const HOUR_MS = 3_600_000

const sandbox = useServer(() => startSandbox())

let letters = 0
const letter = (subject: string) =>
  `From: Ada <ada@example.com>\r\nTo: me@gmail.test\r\nSubject: ${subject}\r\nMessage-ID: <${subject.replace(' ', '-')}@example.com>\r\n\r\nText of ${subject}\r\n`

const CATEGORY: Record<string, string> = {
  CATEGORY_PERSONAL: 'personal',
  CATEGORY_SOCIAL: 'social',
  CATEGORY_PROMOTIONS: 'promotions',
  CATEGORY_UPDATES: 'updates',
  CATEGORY_FORUMS: 'forums',
}
const FLAGS = new Set(['UNREAD', 'STARRED', 'CHAT', ...Object.keys(CATEGORY)])

/** Every message with each of its mailboxes, as `readPlaces` writes them. */
async function truth(client: GmailClient): Promise<string[]> {
  const labels = new Map((await client.labels()).map(({ id, name }) => [id, name]))
  const lines: string[] = []
  for (const { labelIds, subject } of await client.messages()) {
    const categories = labelIds.flatMap(label => CATEGORY[label] ?? []).toSorted()
    const isElsewhere = labelIds.includes('TRASH') || labelIds.includes('SPAM')
    const mailboxes = labelIds.filter(label => !FLAGS.has(label)).map(label => labels.get(label) ?? label)
    for (const mailbox of isElsewhere ? mailboxes : [...mailboxes, 'All Mail'])
      lines.push(
        lineOf(subject, mailbox, [!labelIds.includes('UNREAD'), labelIds.includes('STARRED'), categories]),
      )
  }
  return lines.toSorted()
}

/** Does what another client might. */
async function disturb(client: GmailClient, random: Random): Promise<void> {
  const { messages = [] } = await client.call(api =>
    api.messages.list({ includeSpamTrash: true, maxResults: 500 }),
  )
  const ids = messages.map(({ id }) => id!)
  const labels = (await client.labels()).filter(({ type }) => type === 'user').map(({ id }) => id)
  const somewhere = () => random.pick(['INBOX', 'SPAM', 'TRASH', 'IMPORTANT', ...labels])
  const kind = random.between(0, 15)
  const id = ids.length === 0 ? null : random.pick(ids)
  if (kind < 5 || id === null)
    await client.insert(letter(`letter ${++letters}`), [
      somewhere(),
      ...(random.chance(0.5) ? ['UNREAD'] : []),
    ])
  else if (kind < 7) await client.modify(id, { add: ['STARRED'], remove: ['UNREAD'] })
  else if (kind < 8) await client.modify(id, { add: ['UNREAD', random.pick(Object.keys(CATEGORY))] })
  else if (kind < 10) await client.modify(id, { add: [somewhere()] })
  else if (kind < 12) {
    const target = somewhere()
    await client.modify(id, {
      remove: ['INBOX', 'SPAM', 'TRASH'].filter(label => label !== target),
      add: [target],
    })
  } else if (kind < 14) await client.delete(id)
  else if (kind === 14 && labels.length < 5) await client.createLabel(`Made ${++letters}`)
  else if (kind === 15 && labels.length > 0 && random.chance(0.5))
    await client.deleteLabel(random.pick(labels))
  else if (labels.length > 0) await client.renameLabel(random.pick(labels), `Renamed ${++letters}`)
}

/** Folds the feed over what the index held when the account was initialized. */
function fold(initial: ReadonlyArray<{ id: string }>, feed: readonly FeedEvent[]): string[] {
  const ids = new Set(initial.map(({ id }) => id))
  for (const { type, data } of feed) {
    if (!data.message) continue
    const { id, subject } = data.message
    if (type === 'message.created' && ids.has(id)) throw new Error(`${subject} was created twice`)
    if (type !== 'message.created' && !ids.has(id))
      throw new Error(`${type} of ${subject} before its creation`)
    if (type === 'message.deleted') ids.delete(id)
    else ids.add(id)
  }
  return [...ids].toSorted()
}

/** The subjects, of which each is of one message, that were seen under more than one id. */
function renamed(initial: readonly IndexedMessage[], feed: readonly FeedEvent[]): string[] {
  const seen = [
    ...initial.map(({ id, content }) => ({ id, subject: content })),
    ...feed.flatMap(({ data: { message } }) => message ?? []),
  ]
  const bySubject = Map.groupBy(seen, ({ subject }) => subject)
  return [...bySubject].flatMap(([subject, found]) =>
    new Set(found.map(({ id }) => id)).size > 1 ? [subject] : [],
  )
}

const isTransient = (error: unknown) =>
  error instanceof ProviderFailure && ['unavailable', 'throttled', 'access_refused'].includes(error.kind)

async function passUntilCaughtUp(
  db: Db,
  owned: OwnedAccount,
  connect: () => MailProvider,
  waited: () => void = () => {},
) {
  for (let tries = 0, quiet = 0; tries < 60; tries += 1) {
    // Messages that could not be read are due again.
    await sql`update quarantined_message set next_attempt_at = clock_timestamp()`.execute(db)
    try {
      const { hasMore, unreadable, pause } = await pass(db, owned, { connect })
      if (pause) waited()
      quiet = hasMore || unreadable > 0 ? 0 : quiet + 1
      if (quiet === 3) return
    } catch (error) {
      if (!isTransient(error)) throw error
      waited()
    }
  }
  throw new Error('does not come to rest')
}

const BROKEN = [{ does: 'error', status: 503 }, { does: 'torn' }]
const REFUSED = [{ does: 'rate_limit' }, { does: 'quota' }, { does: 'unauthorized' }]

/** Together they strike every fifth call. */
async function addFaults(
  server: SandboxServer,
  faults: ReadonlyArray<Record<string, unknown>>,
): Promise<void> {
  for (const fault of faults)
    await server.addFault({ ...fault, host: 'gmail.googleapis.com', probability: 0.2 / faults.length })
}

test.each(seedsFor(1))(
  'the index comes to equal a mailbox that others change, with faults, expired history and little quota (seed %i)',
  async seed => {
    const server = sandbox()
    await using database = await openTestDatabase()
    const { db } = database
    const random = seeded(`gmail ${seed}`)
    const email = `any-history-${seed}@gmail.test`
    await server.addUser(email)
    const clock = { aheadMs: 0 }
    const governor = new QuotaGovernor({
      userUnitsPerMinute: 3_000,
      projectUnitsPerMinute: 1e9,
      now: () => performance.now() + clock.aheadMs,
    })
    await configureGmail(server, { quota: 'off', emptyHistoryPages: true, repeatedHistory: true })
    const client = await openGmailClient(server, email)
    for (let count = 0; count < 40; count += 1) await disturb(client, random)

    let isDisturbed = false
    let last: Promise<unknown> = Promise.resolve()
    const tokens = await tokensFor(server, email, async () => {
      if (isDisturbed && random.chance(0.3)) await (last = last.then(() => disturb(client, random)))
    })
    await using reached = await reachSandbox(server, email, {
      tokens,
      quota: governor.userOf('tests', email),
      now: () => Date.now() + clock.aheadMs,
    })
    const connect = () => reached.connect().mail
    const waited = () => void (clock.aheadMs += 61_000)
    const owned = await ownAccount(db)
    await addFaults(server, [...BROKEN, ...REFUSED])
    await passUntilCaughtUp(db, owned, connect, waited)
    expect(await readPlaces(db)).toEqual(await truth(client))
    const initial = await readIndex(db)

    isDisturbed = true
    for (let round = 0; round < ROUNDS; round += 1) {
      if (random.chance(0.25)) await server.expireHistory(email)
      // The clock may be turned back as well.
      if (random.chance(0.2)) clock.aheadMs += random.pick([2 * HOUR_MS, -HOUR_MS])
      const outcome = await pass(db, owned, { connect }).catch((error: unknown) => {
        if (!isTransient(error)) throw error
        return null
      })
      if (!outcome || outcome.pause) waited()
    }
    await server.clearFaults()
    isDisturbed = false
    // Changes whose history expired within the last hour are made up for now.
    clock.aheadMs += 4 * HOUR_MS
    await passUntilCaughtUp(db, owned, connect, waited)

    expect(await readPlaces(db)).toEqual(await truth(client))
    const index = await readIndex(db)
    const feed = await readFeed(db)
    expect(fold(initial, feed)).toEqual(index.map(({ id }) => id).toSorted())
    expect(renamed(initial, feed)).toEqual([])
  },
)

test('a first sync with faults on every fifth call brings each message once (C1)', async () => {
  const server = sandbox()
  await using database = await openTestDatabase()
  const { db } = database
  const email = 'first-sync@gmail.test'
  await server.addUser(email, { messages: 600 })
  await configureGmail(server, { quota: 'off' })
  const client = await openGmailClient(server, email)
  const { messages = [] } = await client.call(api => api.messages.list({ maxResults: 500 }))
  for (const { id } of messages.slice(0, 20)) await client.modify(id!, { add: ['TRASH'] })
  await using reached = await reachSandbox(server, email)
  const owned = await ownAccount(db)
  await addFaults(server, [...BROKEN, { does: 'lost' }])
  await passUntilCaughtUp(db, owned, () => reached.connect().mail)
  await server.clearFaults()

  const { rows } = await sql<{ id: string }>`select remote_id as id from message`.execute(db)
  const there = (await client.messages()).map(({ id }) => id)
  expect(there.length).toBeGreaterThanOrEqual(600)
  expect(rows.map(({ id }) => id).toSorted()).toEqual(there.toSorted())
})
