import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import {
  labelledHistory,
  lineOf,
  loggedFolders,
  type MailWorld,
  numberedFolders,
} from '../../../test/mail-worlds.ts'
import { InterfaceHand } from '../../../test/mail-hand.ts'
import { MemoryServer, memoryMail } from '../../../test/memory-mail.ts'
import { openTestDatabase } from '../../../test/open-database.ts'
import { sampleMessages } from '../../../test/sample-rows.ts'
import { seeded } from '../../../test/seeded.ts'
import { type Db, openDatabase } from '../../database/pool.ts'
import { inTransaction, type UnitOfWork } from '../../events/unit-of-work.ts'
import { recordDeletedMailbox, recordRenamedMailboxes } from '../../features/mail/mailboxes/record-changes.ts'
import { listPlacedMailboxes } from '../../features/mail/mailboxes/store.ts'
import { listMessageLocations } from '../../features/mail/messages/location.ts'
import { lockMailAccount } from '../../features/mail/messages/record-account.ts'
import { recordChangedKeys } from '../../features/mail/messages/record-changed-keys.ts'
import { recordAdded, recordMoves } from '../../features/mail/messages/record-changes.ts'
import type { MailAccount } from '../../features/mail/messages/rules.ts'
import { newId } from '../../kit/ids.ts'
import { silentLog } from '../../kit/log.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import type { MailProvider } from '../../providers/mail.ts'
import { bringArrivals } from './bring-arrivals.ts'
import { Doubts } from './doubts.ts'
import { LookTimes } from './look-times.ts'
import { claimAccounts, type OwnedAccount } from '../ownership.ts'
import { type PassOptions, runPass } from './pass.ts'
import type { Session } from './session.ts'

/** An account of a memory server, owned by an instance that this test plays. */
async function ownAccount(db: Db): Promise<OwnedAccount> {
  const [tenantId, instanceId] = [newId(), newId()]
  await db.insertInto('tenant').values({ id: tenantId, name: tenantId, settings: '{}' }).execute()
  await db
    .insertInto('account')
    .values({
      id: newId(),
      tenant_id: tenantId,
      provider: 'imap',
      email: 'me@memory.test',
      auth_method: 'password',
    })
    .execute()
  await db
    .insertInto('instance')
    .values({ id: instanceId, heartbeat_until: new Date(Date.now() + 600_000) })
    .execute()
  const [owned] = await claimAccounts(db, instanceId, 1)
  if (!owned) throw new Error('nothing to claim')
  return owned
}

async function openSession(
  db: Db,
  owned: OwnedAccount,
  provider: MailProvider,
  doubts = new Doubts(),
): Promise<Session> {
  const account = await db
    .selectFrom('account')
    .select('initialized_at')
    .where('id', '=', owned.id)
    .executeTakeFirstOrThrow()
  return {
    db,
    owned,
    provider,
    isInitialized: account.initialized_at !== null,
    since: null,
    signal: new AbortController().signal,
    progressed: () => undefined,
    hasMail: () => undefined,
    doubts,
    looks: new LookTimes(),
    mailboxes: new Map(),
    unlisted: new Set(),
    log: silentLog,
  }
}

const NO_OTHERS: PassOptions = {
  takeTurn: () => Promise.resolve({ isWanted: false, [Symbol.dispose]() {} }),
  onBackfill: () => Promise.resolve(),
}

const pass = async (db: Db, owned: OwnedAccount, world: Pick<MailWorld, 'connect'>, doubts?: Doubts) =>
  runPass(await openSession(db, owned, world.connect(), doubts), NO_OTHERS)

async function passUntilCaughtUp(
  db: Db,
  owned: OwnedAccount,
  world: Pick<MailWorld, 'connect'>,
): Promise<void> {
  const doubts = new Doubts()
  for (let tries = 0; tries < 20; tries++) {
    try {
      if (!(await pass(db, owned, world, doubts)).hasMore && tries > 1) return
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
    }
  }
  throw new Error('does not come to rest')
}

interface IndexedMessage {
  id: string
  content: string
  mailboxIds: string[]
}

async function readIndex(db: Db): Promise<IndexedMessage[]> {
  const { rows } = await sql<IndexedMessage>`
    select id, subject as content, mailbox_ids as "mailboxIds" from message order by id
  `.execute(db)
  return rows
}

interface IndexedPlace {
  content: string
  mailbox: string
  is_read: boolean
  is_flagged: boolean
  categories: string[]
}

/** What the index holds, as `MailWorld.truth` says it; by what lists and listings of mailboxes are made of. */
async function readPlaces(db: Db): Promise<string[]> {
  const { rows } = await sql<IndexedPlace>`
    select subject as content, path as mailbox, is_read, is_flagged, categories
    from message_mailbox as held join message on message.id = held.message_id join mailbox on mailbox.id = mailbox_id
    where mailbox.id = any(message.mailbox_ids) and held.received_at = message.received_at
  `.execute(db)
  return rows
    .map(row => lineOf(row.content, row.mailbox, [row.is_read, row.is_flagged, row.categories]))
    .toSorted()
}

interface FeedEvent {
  type: string
  data: {
    message?: { id: string; subject: string }
    mailbox?: { id: string }
    mailboxes?: Array<{ id: string }>
    changes?: string[]
  }
}

async function readFeed(db: Db): Promise<FeedEvent[]> {
  const { rows } = await sql<FeedEvent>`select type, data from event order by id`.execute(db)
  return rows
}

function findMailbox(db: Db, path: string) {
  return db
    .selectFrom('mailbox')
    .select(['id', 'provider_key'])
    .where('path', '=', path)
    .executeTakeFirstOrThrow()
}

/** Commits what the interface has changed. */
function commitChange(
  db: Db,
  { id, tenantId }: OwnedAccount,
  work: (unit: UnitOfWork, account: MailAccount) => Promise<unknown>,
): Promise<void> {
  return inTransaction(db, tenantId, async unit => {
    await work(unit, await lockMailAccount(unit, id))
  })
}

const held = (content: string, mailboxIds: readonly string[]) =>
  `${content} in ${mailboxIds.toSorted().join()}`

/** Folds the feed over what the index held when the account was initialized. */
function fold(initial: readonly IndexedMessage[], feed: readonly FeedEvent[]): string[] {
  const messages = new Map(initial.map(({ id, content, mailboxIds }) => [id, held(content, mailboxIds)]))
  for (const { type, data } of feed) {
    if (!data.message || !data.mailboxes) continue
    const { id, subject } = data.message
    if (type === 'message.created' && messages.has(id)) throw new Error(`${subject} was created twice`)
    if (type !== 'message.created' && !messages.has(id))
      throw new Error(`${type} of ${subject} before its creation`)
    if (type === 'message.deleted') messages.delete(id)
    else
      messages.set(
        id,
        held(
          subject,
          data.mailboxes.map(mailbox => mailbox.id),
        ),
      )
  }
  return [...messages.values()].toSorted()
}

/** Sources of which something is kept although no mailbox is filled from them any more. */
async function listUnfollowed(db: Db): Promise<string[]> {
  const { rows } = await sql<{ source: string }>`
    select source from (
      select account_id, source from sync_cursor
      union select account_id, source from quarantined_message
      union select account_id, source from changed_key
    ) as kept
    where not exists (
      select from mailbox where mailbox.account_id = kept.account_id and mailbox.source = kept.source
    )
  `.execute(db)
  return rows.map(({ source }) => source)
}

async function passDisturbed(db: Db, owned: OwnedAccount, world: MailWorld): Promise<void> {
  for (let passes = 0; passes < 15; passes++) {
    await pass(db, owned, world).catch((error: unknown) => {
      if (!(error instanceof ProviderFailure)) throw error
    })
  }
}

/** The index equals the world, and so does what a reader of the feed has made of it. */
async function expectTrue(db: Db, world: MailWorld, initial: readonly IndexedMessage[]): Promise<void> {
  expect(await readPlaces(db)).toEqual(world.truth())
  expect(await listUnfollowed(db)).toEqual([])
  const index = await readIndex(db)
  const feed = await readFeed(db)
  expect(fold(initial, feed)).toEqual(
    index.map(({ content, mailboxIds }) => held(content, mailboxIds)).toSorted(),
  )
  // Contents are unique, so whatever moved or was renumbered keeps its id: nothing is created or deleted twice.
  const announced = feed.flatMap(({ type, data }) =>
    data.message ? [`${type} ${data.message.subject}`] : [],
  )
  const born = announced.filter(text => /created|deleted/.test(text))
  expect(born.filter((text, at) => born.indexOf(text) !== at)).toEqual([])
  const before = new Set(initial.map(({ content }) => `message.created ${content}`))
  expect(born.filter(text => before.has(text))).toEqual([])
}

/** Changes that were announced more often than they were made. */
function overAnnounced(feed: readonly FeedEvent[], made: ReadonlyMap<string, number>): string[] {
  const announced = new Map<string, number>()
  for (const { data } of feed) {
    const of = data.message?.subject ?? data.mailbox?.id
    for (const field of data.changes ?? []) {
      const what = `${field} of ${of}`
      announced.set(what, (announced.get(what) ?? 0) + 1)
    }
  }
  return [...announced].flatMap(([what, times]) =>
    /^(?:isRead|mailboxIds|name) /.test(what) && times > (made.get(what) ?? 0)
      ? [`${times} times ${what}`]
      : [],
  )
}

const WORLDS = { numberedFolders, labelledHistory, loggedFolders }
/** On PostgreSQL 16 only the SQL is tried again, and a few seeds reach all of it. */
const SEEDS = Array.from(
  { length: process.env['WAXWING_TEST_PG'] === '16' ? 5 : 30 },
  (_, index) => index + 1,
)

describe('runPass', () => {
  const attacks = Object.keys(WORLDS).flatMap(name =>
    SEEDS.map(seed => [name as keyof typeof WORLDS, seed] as const),
  )
  test.each(attacks)(
    'the index comes to equal %s that others change meanwhile (seed %i)',
    async (name, seed) => {
      await using database = await openTestDatabase()
      const { db } = database
      const random = seeded(seed)
      const world = WORLDS[name](random)
      const owned = await ownAccount(db)
      await passUntilCaughtUp(db, owned, world)
      const initial = await readIndex(db)
      expect(await readPlaces(db)).toEqual(world.truth())

      world.onAwait(() => {
        if (random.chance(0.3)) world.disturb()
        if (random.chance(0.02)) throw new ProviderFailure('unavailable', 'the connection broke')
      })
      await passDisturbed(db, owned, world)
      world.onAwait(() => undefined)
      await passUntilCaughtUp(db, owned, world)
      await expectTrue(db, world, initial)
    },
  )

  test.each(attacks)(
    'neither undoes nor repeats what the interface changes in %s, whatever others change (seed %i)',
    async (name, seed) => {
      await using database = await openTestDatabase()
      const { db } = database
      const random = seeded(seed)
      const world = WORLDS[name](random)
      const owned = await ownAccount(db)
      await passUntilCaughtUp(db, owned, world)
      const initial = await readIndex(db)
      const hand = new InterfaceHand(db, owned, world.hand, random)
      // In every second run nobody else changes anything, so that announcements can be counted.
      const hasOthers = seed % 2 === 0

      world.onAwait(async () => {
        await hand.act()
        if (hasOthers && random.chance(0.1)) world.disturb()
        if (random.chance(0.02)) throw new ProviderFailure('unavailable', 'the connection broke')
      })
      await passDisturbed(db, owned, world)
      world.onAwait(() => undefined)
      await hand.finish()
      await passUntilCaughtUp(db, owned, world)

      await expectTrue(db, world, initial)
      expect(await db.selectFrom('changed_key').selectAll().execute()).toEqual([])
      if (!hasOthers) expect(overAnnounced(await readFeed(db), hand.changes)).toEqual([])
    },
  )

  test('keeps the id of a message that was moved into a mailbox while that was renamed', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const world = numberedFolders(seeded(1))
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    const initial = await readIndex(db)
    const { id: targetId, provider_key: targetKey } = await findMailbox(db, 'Work')
    const { id: messageId } = initial.find(({ mailboxIds }) => !mailboxIds.includes(targetId))!
    const [from] = await listMessageLocations(db, owned.id, [messageId])

    const { to } = world.hand.move(from!, targetKey)!
    expect(to).not.toBe(null)
    const mailbox = world.hand.renameMailbox(targetKey)!
    await commitChange(db, owned, (unit, account) =>
      recordRenamedMailboxes(unit, account, [{ mailboxId: targetId, formerKey: targetKey, mailbox }]),
    )
    // None of the mailboxes has the key that the message was moved to.
    await commitChange(db, owned, (unit, account) =>
      recordMoves(unit, account, [{ messageId, from: from!, mailboxes: [], to }]),
    )
    await passUntilCaughtUp(db, owned, world)

    await expectTrue(db, world, initial)
    expect((await readIndex(db)).find(({ id }) => id === messageId)?.mailboxIds).toEqual([targetId])
  })

  test('deletes the messages of a deleted mailbox in steps, each once, although one of them fails', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const server = new MemoryServer()
    server.create('INBOX', 'inbox')
    server.create('Work')
    const world = { connect: () => memoryMail(server).mail }
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    const { id: mailboxId } = await findMailbox(db, 'Work')
    const message = { mailboxIds: [mailboxId] }
    await sampleMessages(
      db,
      owned,
      Array.from({ length: 4_500 }, () => message),
    )

    server.mailboxes.delete('Work')
    await commitChange(db, owned, (unit, account) => recordDeletedMailbox(unit, account, mailboxId))
    const countMissing = async () => {
      const { rows } = await sql`select from message where missing_look is not null`.execute(db)
      return rows.length
    }
    expect(await countMissing()).toBe(0)
    const session = await openSession(db, owned, world.connect())
    const countdown = { steps: 3 }
    const progressed = () => {
      if (--countdown.steps === 0) throw new ProviderFailure('unavailable', 'the process ended')
    }
    await expect(runPass({ ...session, progressed }, NO_OTHERS)).rejects.toThrow('the process ended')
    const missing = await countMissing()
    expect(missing).toBeGreaterThan(0)
    expect(missing).toBeLessThan(4_500)
    await passUntilCaughtUp(db, owned, world)

    expect(await readIndex(db)).toEqual([])
    expect(await db.selectFrom('mailbox').select('path').execute()).toEqual([{ path: 'INBOX' }])
    const deleted = (await readFeed(db)).flatMap(({ type, data }) =>
      type === 'message.deleted' ? (data.message?.id ?? []) : [],
    )
    expect([deleted.length, new Set(deleted).size]).toEqual([4_500, 4_500])
  })

  test('keeps the id of a message that left a deleted mailbox, before a pass looks for those that did not', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const server = new MemoryServer()
    server.create('INBOX', 'inbox')
    server.create('Work')
    server.deliver('Work', 'content 1', new Date(1.7e12))
    const world = { connect: () => memoryMail(server).mail }
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    const [before] = await readIndex(db)
    const { id: mailboxId } = await findMailbox(db, 'Work')

    server.move('Work', server.get('Work').messages[0]!, 'INBOX')
    server.mailboxes.delete('Work')
    await commitChange(db, owned, (unit, account) => recordDeletedMailbox(unit, account, mailboxId))
    const placed = await listPlacedMailboxes(db, owned.id)
    const inbox = placed.filter(({ role }) => role === 'inbox')
    const session = await openSession(db, owned, world.connect())
    const mailboxes = new Map(placed.map(mailbox => [mailbox.key, mailbox]))
    await bringArrivals({ ...session, mailboxes }, { source: 'INBOX', mailboxes: inbox }, { onlyNew: true })

    expect(await readIndex(db)).toEqual([{ ...before, mailboxIds: [inbox[0]?.id] }])
  })

  test('deletes a message that was added to a mailbox while that was deleted', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const world = numberedFolders(seeded(1))
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    const { id: mailboxId, provider_key: key } = await findMailbox(db, 'Work')

    const { message } = world.hand.add(key)!
    world.hand.deleteMailbox(key)
    await commitChange(db, owned, (unit, account) => recordDeletedMailbox(unit, account, mailboxId))
    await commitChange(db, owned, (unit, account) =>
      recordAdded(unit, account, { message, mailboxes: [], to: null }),
    )
    await passUntilCaughtUp(db, owned, world)

    expect(await readPlaces(db)).toEqual(world.truth())
    expect(
      await db.selectFrom('message').select('id').where('missing_look', 'is not', null).execute(),
    ).toEqual([])
  })

  test('keeps nothing of a mailbox that can hold no messages any more after it was renamed', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const world = numberedFolders(seeded(1))
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    const { id: mailboxId, provider_key: formerKey } = await findMailbox(db, 'Work')
    await sql`
      insert into quarantined_message (account_id, source, uid, reason, attempts, parser_version, next_attempt_at)
      values (${owned.id}, ${formerKey}, 7, 'a test', 1, 1, now())
    `.execute(db)
    await commitChange(db, owned, (unit, { id }) =>
      recordChangedKeys(unit, id, [{ source: formerKey, key: 7 }]),
    )

    const mailbox = { ...world.hand.renameMailbox(formerKey)!, source: null }
    await commitChange(db, owned, (unit, account) =>
      recordRenamedMailboxes(unit, account, [{ mailboxId, formerKey, mailbox }]),
    )

    expect(await listUnfollowed(db)).toEqual([])
  })

  test('keeps nothing of a mailbox that the interface deletes while it is read', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const server = new MemoryServer()
    server.create('INBOX', 'inbox')
    server.create('Work')
    const world = { connect: () => memoryMail(server).mail }
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    const { id } = await findMailbox(db, 'Work')

    server.deliver('Work', 'content 1', new Date(1.7e12))
    const session = await openSession(db, owned, world.connect())
    const { arrivals } = session.provider
    session.provider.arrivals = async function* (...given) {
      for await (const step of arrivals(...given)) {
        if (step.type === 'arrived' && server.mailboxes.has('Work')) {
          server.mailboxes.delete('Work')
          await commitChange(db, owned, (unit, account) => recordDeletedMailbox(unit, account, id))
        }
        yield step
      }
    }
    await runPass(session, NO_OTHERS).catch((error: unknown) => {
      if (!(error instanceof ProviderFailure)) throw error
    })

    expect(await listUnfollowed(db)).toEqual([])
    await passUntilCaughtUp(db, owned, world)
    expect(await readIndex(db)).toEqual([])
    const events = (await readFeed(db)).map(({ type }) => type)
    expect(events).toEqual(['account.initialized', 'mailbox.deleted'])
  })

  test('holds the messages of one step at a time: each is indexed before the next ones are asked for', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const server = new MemoryServer()
    server.create('INBOX', 'inbox')
    for (let count = 1; count <= 300; count++)
      server.deliver('INBOX', `content ${count}`, new Date(1.7e12 + count * 1_000))
    const session = await openSession(db, await ownAccount(db), memoryMail(server).mail)
    const waiting: number[] = []
    let handed = 0
    const { arrivals, ...rest } = session.provider
    const provider: typeof session.provider = {
      ...rest,
      async *arrivals(...given) {
        for await (const step of arrivals(...given)) {
          if (step.type === 'arrived') handed += step.messages.length
          yield step
          waiting.push(handed - (await readIndex(db)).length)
        }
      },
    }
    await runPass({ ...session, provider }, NO_OTHERS)
    expect(await readIndex(db)).toHaveLength(300)
    expect(waiting.length).toBeGreaterThan(10)
    expect(waiting.filter(count => count !== 0)).toEqual([])
  })

  test('deletes what is missing although the clock of the database was set back meanwhile', async () => {
    await using clock = await openTurnedClock()
    const { db } = clock
    const server = new MemoryServer()
    server.create('INBOX', 'inbox')
    for (let count = 1; count <= 10; count++)
      server.deliver('INBOX', `content ${count}`, new Date(1.7e12 + count * 1_000))
    const world = { connect: () => memoryMail(server).mail }
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)

    for (const message of server.get('INBOX').messages.slice(0, 6)) server.expunge('INBOX', message)
    const session = await openSession(db, owned, world.connect())
    const { listMailboxes } = session.provider
    let lists = 0
    session.provider.listMailboxes = () => {
      // Once the messages are marked as missing, and before they are deleted.
      if (++lists === 2) throw new ProviderFailure('unavailable', 'the connection broke')
      return listMailboxes()
    }
    await expect(runPass(session, NO_OTHERS)).rejects.toThrow('the connection broke')
    expect(await readIndex(db)).toHaveLength(10)
    await clock.turn('-2 hours')
    await pass(db, owned, world)

    const left = server.get('INBOX').messages.map(({ content }) => content)
    expect((await readIndex(db)).map(({ content }) => content).toSorted()).toEqual(left.toSorted())
    expect((await readFeed(db)).filter(({ type }) => type === 'message.deleted')).toHaveLength(6)
  })
})

/** A database whose clock is turned as the test likes. */
async function openTurnedClock() {
  await using opened = new AsyncDisposableStack()
  const database = opened.use(await openTestDatabase())
  const setup = opened.use(openDatabase({ address: database.address, applicationName: 'waxwing test' }))
  await sql`create table clock (turned interval not null)`.execute(setup.db)
  await sql`insert into clock values ('0')`.execute(setup.db)
  await sql`
    create function clock_timestamp() returns timestamptz language sql volatile
    as 'select pg_catalog.clock_timestamp() + turned from public.clock'
  `.execute(setup.db)
  // What is named there is found before what PostgreSQL brings, which is first otherwise.
  await sql`do $$ begin
    execute format('alter database %I set search_path = public, pg_catalog', current_database());
  end $$`.execute(setup.db)
  const { db } = database
  const owned = opened.move()
  return {
    db,
    turn: (interval: string) => sql`update clock set turned = ${interval}::interval`.execute(db),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
