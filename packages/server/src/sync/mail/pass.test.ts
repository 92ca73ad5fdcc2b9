import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { MemoryServer, memoryMail, type MemoryMessage } from '../../../test/memory-mail.ts'
import { openTestDatabase } from '../../../test/open-database.ts'
import { type Random, seeded } from '../../../test/seeded.ts'
import { type Db, openDatabase } from '../../database/pool.ts'
import { newId } from '../../kit/ids.ts'
import { silentLog } from '../../kit/log.ts'
import { ProviderFailure } from '../../providers/failure.ts'
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
  server: MemoryServer,
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
    provider: memoryMail(server),
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

const pass = async (db: Db, owned: OwnedAccount, server: MemoryServer, doubts?: Doubts) =>
  runPass(await openSession(db, owned, server, doubts), NO_OTHERS)

async function passUntilCaughtUp(db: Db, owned: OwnedAccount, server: MemoryServer): Promise<void> {
  const doubts = new Doubts()
  for (let tries = 0; tries < 20; tries++) {
    try {
      if (!(await pass(db, owned, server, doubts)).hasMore && tries > 1) return
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
    }
  }
  throw new Error('does not come to rest')
}

interface IndexedMessage {
  id: string
  content: string
  mailbox: string
  mailboxId: string
  flags: string
}

async function readIndex(db: Db): Promise<IndexedMessage[]> {
  const { rows } = await sql<IndexedMessage>`
    select message.id, subject as content, path as mailbox, mailbox.id as "mailboxId",
      concat_ws(' ', is_read, is_flagged, array_to_string(categories, ',')) as flags
    from message join mailbox on mailbox.id = any(mailbox_ids) order by content, mailbox, flags
  `.execute(db)
  return rows
}

function asOnServer({ content, mailbox, flags }: IndexedMessage) {
  return { content, mailbox, flags }
}

function readServer(server: MemoryServer) {
  return [...server.mailboxes.values()]
    .flatMap(({ path, messages }) =>
      messages.map(({ content, isRead, isFlagged, categories }) => ({
        content,
        mailbox: path,
        flags: [isRead ? 't' : 'f', isFlagged ? 't' : 'f', categories.join(',')].join(' '),
      })),
    )
    .toSorted((a, b) => compare([a.content, a.mailbox, a.flags], [b.content, b.mailbox, b.flags]))
}

function compare(a: string[], b: string[]): number {
  const [x, y] = [a.join('\u0000'), b.join('\u0000')]
  return x < y ? -1 : x > y ? 1 : 0
}

interface FeedEvent {
  type: string
  data: { message?: { id: string; subject: string }; mailboxes?: Array<{ id: string }>; changes?: string[] }
}

async function readFeed(db: Db): Promise<FeedEvent[]> {
  const { rows } = await sql<FeedEvent>`select type, data from event order by id`.execute(db)
  return rows
}

/** Folds the feed over what the index held when the account was initialized. */
function fold(initial: readonly IndexedMessage[], feed: readonly FeedEvent[]): string[] {
  const held = new Map(initial.map(message => [message.id, `${message.content} in ${message.mailboxId}`]))
  for (const { type, data } of feed) {
    if (!data.message || !data.mailboxes) continue
    const { id, subject } = data.message
    if (type === 'message.created' && held.has(id)) throw new Error(`${subject} was created twice`)
    if (type !== 'message.created' && !held.has(id))
      throw new Error(`${type} of ${subject} before its creation`)
    if (type === 'message.deleted') held.delete(id)
    else held.set(id, `${subject} in ${data.mailboxes.map(mailbox => mailbox.id).join()}`)
  }
  return [...held.values()].toSorted()
}

/** What another client does to the server at some moment. */
function disturb(server: MemoryServer, random: Random, state: { delivered: number }): void {
  const mailboxes = [...server.mailboxes.values()]
  const mailbox = random.pick(mailboxes)
  const message: MemoryMessage | undefined = mailbox.messages[random.between(0, mailbox.messages.length)]
  const kind = random.between(0, 19)
  if (kind < 6)
    server.deliver(mailbox.path, `content ${state.delivered++}`, new Date(1.7e12 + state.delivered * 1_000))
  else if (kind < 10 && message) message.isRead = !message.isRead
  else if (kind < 11 && message) message.categories = message.categories.length > 0 ? [] : ['work']
  else if (kind < 15 && message) server.move(mailbox.path, message, random.pick(mailboxes).path)
  else if (kind < 17 && message) server.expunge(mailbox.path, message)
  else if (kind === 17) server.renumber(mailbox.path)
  else if (kind === 18 && mailbox.role === 'custom')
    server.rename(mailbox.path, `Renamed ${state.delivered++}`)
  else if (kind === 19 && mailbox.role === 'custom' && mailboxes.length < 8)
    server.create(`Made ${state.delivered++}`)
}

function furnish(random: Random): { server: MemoryServer; state: { delivered: number } } {
  const server = new MemoryServer()
  const state = { delivered: 0 }
  server.create('INBOX', 'inbox')
  server.create('Sent', 'sent')
  server.create('Work')
  server.create('Old')
  for (const { path } of server.mailboxes.values()) {
    for (let count = random.between(0, 30); count > 0; count--)
      server.deliver(path, `content ${state.delivered++}`, new Date(1.7e12 + state.delivered * 1_000))
  }
  return { server, state }
}

describe('runPass', () => {
  const seeds = Array.from({ length: 30 }, (_, index) => index + 1)
  test.each(seeds)('the index comes to equal a server that others change meanwhile (seed %i)', async seed => {
    await using database = await openTestDatabase()
    const { db } = database
    const random = seeded(seed)
    const { server, state } = furnish(random)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, server)
    const initial = await readIndex(db)
    expect(initial.map(asOnServer)).toEqual(readServer(server))

    server.onAwait = () => {
      if (random.chance(0.3)) disturb(server, random, state)
      if (random.chance(0.02)) throw new ProviderFailure('unavailable', 'the connection broke')
    }
    for (let passes = 0; passes < 15; passes++) {
      await pass(db, owned, server).catch((error: unknown) => {
        if (!(error instanceof ProviderFailure)) throw error
      })
    }
    server.onAwait = () => undefined
    await passUntilCaughtUp(db, owned, server)

    const index = await readIndex(db)
    expect(index.map(asOnServer)).toEqual(readServer(server))
    const feed = await readFeed(db)
    expect(fold(initial, feed)).toEqual(
      index.map(({ content, mailboxId }) => `${content} in ${mailboxId}`).toSorted(),
    )
    // Contents are unique, so whatever moved or was renumbered keeps its id: nothing is created or deleted twice.
    const announced = feed.flatMap(({ type, data }) =>
      data.message ? [`${type} ${data.message.subject}`] : [],
    )
    const born = announced.filter(text => /created|deleted/.test(text))
    expect(born.length).toBe(new Set(born).size)
  })

  test('holds the messages of one step at a time: each is indexed before the next ones are asked for', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const server = new MemoryServer()
    server.create('INBOX', 'inbox')
    for (let count = 1; count <= 300; count++)
      server.deliver('INBOX', `content ${count}`, new Date(1.7e12 + count * 1_000))
    const session = await openSession(db, await ownAccount(db), server)
    const held: number[] = []
    let handed = 0
    const { arrivals, ...rest } = session.provider
    const provider: typeof session.provider = {
      ...rest,
      async *arrivals(...given) {
        for await (const step of arrivals(...given)) {
          if (step.type === 'arrived') handed += step.messages.length
          yield step
          held.push(handed - (await readIndex(db)).length)
        }
      },
    }
    await runPass({ ...session, provider }, NO_OTHERS)
    expect(await readIndex(db)).toHaveLength(300)
    expect(held.length).toBeGreaterThan(10)
    expect(held.filter(count => count !== 0)).toEqual([])
  })

  test('deletes what is missing although the clock of the database was set back meanwhile', async () => {
    await using clock = await openTurnedClock()
    const { db } = clock
    const server = new MemoryServer()
    server.create('INBOX', 'inbox')
    for (let count = 1; count <= 10; count++)
      server.deliver('INBOX', `content ${count}`, new Date(1.7e12 + count * 1_000))
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, server)

    for (const message of server.get('INBOX').messages.slice(0, 6)) server.expunge('INBOX', message)
    const session = await openSession(db, owned, server)
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
    await pass(db, owned, server)

    expect((await readIndex(db)).map(asOnServer)).toEqual(readServer(server))
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
