import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import {
  labelledHistory,
  loggedFolders,
  type MailWorld,
  numberedFolders,
} from '../../../../../test/mail-worlds.ts'
import {
  ownAccount,
  pass,
  passUntilCaughtUp,
  readFeed,
  readIndex,
  readPlaces,
} from '../../../../../test/memory-account.ts'
import { LogServer, logMail } from '../../../../../test/memory-log.ts'
import { memoryMail } from '../../../../../test/memory-mail.ts'
import { openTestDatabase } from '../../../../../test/open-database.ts'
import { type Random, seeded } from '../../../../../test/seeded.ts'
import { seedsFor } from '../../../../../test/sync/disturbance.ts'
import { openInbox, request, summary, verify } from '../../../../../test/verify-mail.ts'
import type { Db } from '../../../../database/pool.ts'
import { countStates } from '../../../integrity/comparisons/store.ts'
import type { MailProvider } from '../../../../providers/mail.ts'
import { Verification } from './verification.ts'

const WORLDS = { numberedFolders, labelledHistory, loggedFolders }
/** The soak tries more. */
const SEEDS = seedsFor(1)

/** Loses some messages of the index and falsifies others, as no code of the service would. */
async function damage(db: Db, random: Random): Promise<{ lost: string[]; falsified: string[] }> {
  const ids = (await readIndex(db)).map(({ id }) => id)
  const lost = ids.filter(() => random.chance(0.2))
  const falsified = ids.filter(id => !lost.includes(id) && random.chance(0.2))
  await sql`delete from message where id = any(${lost}::uuid[])`.execute(db)
  await sql`update message set is_flagged = not is_flagged where id = any(${falsified}::uuid[])`.execute(db)
  return { lost, falsified }
}

/** Copies a message under a key that nothing has. */
async function addGhost(db: Db, accountId: string): Promise<void> {
  const columns = await sql<{ name: string }>`
    select column_name as name from information_schema.columns
    where table_name = 'message' and table_schema = 'public' and column_name not in ('id', 'remote_id', 'identity')
  `.execute(db)
  const names = sql.join(columns.rows.map(({ name }) => sql.ref(name)))
  await sql`
    with ghost as (
      insert into message (id, remote_id, identity, ${names})
      select gen_random_uuid(), remote_id || '-ghost', gen_random_uuid(), ${names} from message
      where account_id = ${accountId} order by id limit 1
      returning id, received_at, remote_id, mailbox_ids
    )
    insert into message_mailbox (mailbox_id, received_at, message_id, uid)
    select mailbox_id, received_at, id, case when remote_id is null then 900000 end
    from ghost cross join unnest(mailbox_ids) as mailbox_id
  `.execute(db)
}

describe.each(Object.entries(WORLDS))('verification of %s', (_, make) => {
  test.each(SEEDS)('finds, repairs and announces what the index silently lost (seed %i)', async seed => {
    await using database = await openTestDatabase()
    const { db } = database
    const random = seeded(`damage ${seed}`)
    const world = make(random)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    const { lost, falsified } = await damage(db, random)
    const hasGhost = (await readIndex(db)).length > 0
    if (hasGhost) await addGhost(db, owned.id)
    const damaged = await readPlaces(db)
    await pass(db, owned, world)
    expect(await readPlaces(db)).toEqual(damaged)

    await request(db, owned)
    const openMax = await verify(db, owned, world)

    expect(await readPlaces(db)).toEqual(world.truth())
    const count = world.truth().length
    const after = await summary(db, owned.id)
    expect(after).toMatchObject({ state: 'verified', open: 0, listed: count, indexed: count })
    if (lost.length + falsified.length > 0) expect(openMax).toBeGreaterThan(0)
    // A server without a change log is compared in full by each pass that compares it, which finds a ghost before.
    const isFound = hasGhost && make !== numberedFolders
    expect(after.repaired).toBeGreaterThanOrEqual(lost.length + falsified.length + Number(isFound))
    const feed = await readFeed(db)
    const announced = (type: string) => feed.filter(event => event.type === type)
    expect(announced('message.created')).toHaveLength(lost.length)
    expect(announced('message.deleted')).toHaveLength(Number(hasGhost))
    expect(
      announced('message.updated')
        .map(({ data }) => [data.message?.id, data.changes])
        .toSorted(),
    ).toEqual(falsified.map(id => [id, ['isFlagged']]).toSorted())
  })

  test.each(SEEDS)('finds no difference in mailboxes that others keep changing (seed %i)', async seed => {
    await using database = await openTestDatabase()
    const { db } = database
    const random = seeded(`changing ${seed}`)
    const world: MailWorld = make(random)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    await request(db, owned)

    world.onAwait(() => {
      if (random.chance(0.15)) world.disturb()
    })
    const openMax = await verify(db, owned, world)
    world.onAwait(() => undefined)

    expect(openMax).toBe(0)
    const { repaired } = await summary(db, owned.id)
    expect(repaired).toBe(0)
    await passUntilCaughtUp(db, owned, world)
    await request(db, owned)
    await verify(db, owned, world)
    expect((await summary(db, owned.id)).state).toBe('verified')
  })
})

describe('verification', () => {
  /** The states as they are while the process of the account lives and shows that it follows one. */
  const readStates = async (db: Db) => {
    const until = sql<Date>`clock_timestamp() + interval '30 seconds'`
    await db.updateTable('instance').set({ accounts: 1, heartbeat_until: until }).execute()
    return countStates(db)
  }

  test('calls a mailbox unverified whose server leaves messages out of its listing', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { server, world } = openInbox(20)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    await request(db, owned)
    await verify(db, owned, world)
    expect(await readStates(db)).toEqual({ verified: 1, behind: 0, unverified: 0 })
    server.unlisted.add(7)
    await request(db, owned)
    await verify(db, owned, world)

    expect(await summary(db, owned.id)).toMatchObject({ state: 'unverified', open: 0 })
    expect(await readStates(db)).toEqual({ verified: 0, behind: 0, unverified: 1 })
    expect((await readFeed(db)).filter(({ type }) => type === 'message.deleted')).toEqual([])
    server.unlisted.clear()
    await request(db, owned)
    await verify(db, owned, world)
    expect((await summary(db, owned.id)).state).toBe('verified')
    server.create('New')
    await verify(db, owned, world)
    expect((await summary(db, owned.id)).state).toBe('unverified')
    expect(await readStates(db)).toEqual({ verified: 0, behind: 0, unverified: 1 })
  })

  test('stays behind while a message cannot be brought into the index', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { server, world } = openInbox(5)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    await sql`delete from message where subject = 'content 3'`.execute(db)
    const stubborn = {
      connect: (): MailProvider => ({ ...memoryMail(server).mail, async *arrivals() {} }),
    }
    await request(db, owned)
    await verify(db, owned, stubborn)

    expect(await summary(db, owned.id)).toMatchObject({ state: 'behind', open: 1, repaired: 0 })
    const account = () =>
      db
        .selectFrom('account_half')
        .select(['differs_since', 'verified_at'])
        .where('account_id', '=', owned.id)
        .executeTakeFirstOrThrow()
    expect((await account()).differs_since).not.toBeNull()
    await request(db, owned)
    await verify(db, owned, world)
    expect(await summary(db, owned.id)).toMatchObject({ state: 'verified', open: 0, repaired: 1 })
    const { differs_since, verified_at } = await account()
    expect([differs_since, verified_at]).toEqual([null, expect.any(Date)])
  })

  test('recognises a message whose place in its mailbox was lost', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { world } = openInbox(5)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    const before = await readIndex(db)
    await sql`delete from message_mailbox where message_id = ${before[1]!.id}`.execute(db)
    await sql`update message_mailbox set uid = null where message_id = ${before[3]!.id}`.execute(db)
    await request(db, owned)
    const openMax = await verify(db, owned, world)

    expect(openMax).toBe(3)
    expect(await readIndex(db)).toEqual(before)
    expect((await summary(db, owned.id)).state).toBe('verified')
    expect((await readFeed(db)).filter(({ type }) => /created|deleted/.test(type))).toEqual([])
  })

  test.each([
    ['one of two mailboxes', ['INBOX', 'Other']],
    ['the only mailbox', ['INBOX']],
  ])('forgets the differences of a deleted mailbox: %s', async (_, paths) => {
    await using database = await openTestDatabase()
    const { db } = database
    const { server } = openInbox(5)
    const deleted = paths.at(-1)!
    if (deleted !== 'INBOX') {
      server.create(deleted)
      server.deliver(deleted, 'another', new Date())
    }
    const stubborn = { connect: (): MailProvider => ({ ...memoryMail(server).mail, async *arrivals() {} }) }
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, { connect: () => memoryMail(server).mail })
    await sql`
      delete from message using mailbox where mailbox.id = any(mailbox_ids) and path = ${deleted}
    `.execute(db)
    await request(db, owned)
    const verification = new Verification()
    await verify(db, owned, stubborn, verification)
    const differs = () => db.selectFrom('account_half').select('differs_since').executeTakeFirstOrThrow()
    expect((await differs()).differs_since).not.toBeNull()
    expect(verification.openCount).toBeGreaterThan(0)

    server.mailboxes.delete(deleted)
    await verify(db, owned, stubborn, verification)
    expect(await differs()).toEqual({ differs_since: null })
    expect(verification.openCount).toBe(0)
  })

  const loseUids = (db: Db) => sql`update message_mailbox set uid = null`.execute(db)
  const rebirths = async (db: Db) =>
    (await readFeed(db)).filter(({ type }) => /^message\.(created|deleted)/.test(type))

  test('deletes nothing of a mailbox that is compared later', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { server, world } = openInbox(5)
    server.create('Other')
    for (let n = 0; n < 5; n++) server.deliver('Other', `other ${n}`, new Date(1.8e12 + n * 1000))
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    const before = await readIndex(db)
    await loseUids(db)
    for (const subject of ['content 2', 'other 2'])
      await sql`
        delete from message_mailbox using message where message.id = message_id and subject = ${subject}
      `.execute(db)
    await request(db, owned)
    await verify(db, owned, world)

    expect(await readIndex(db)).toEqual(before)
    expect(await rebirths(db)).toEqual([])
    expect((await summary(db, owned.id)).state).toBe('verified')
  })

  test.each([
    ['numbers', sql`update message_mailbox set uid = null`],
    ['places', sql`delete from message_mailbox`],
  ])('deletes nothing if more %s were lost than a comparison keeps', async (_, damaging) => {
    await using database = await openTestDatabase()
    const { db } = database
    const { world } = openInbox(20)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    const before = await readIndex(db)
    await damaging.execute(db)
    await request(db, owned)
    await verify(db, owned, world, new Verification({ candidatesMax: 6 }))

    expect(await readIndex(db)).toEqual(before)
    expect(await rebirths(db)).toEqual([])
    expect((await summary(db, owned.id)).state).toBe('verified')
  })

  test('counts and repairs more differences than a comparison keeps', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { world } = openInbox(20)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    await sql`delete from message where subject > 'content 1'`.execute(db)
    await request(db, owned)
    const openMax = await verify(db, owned, world, new Verification({ candidatesMax: 6 }))

    expect(openMax).toBe(18)
    expect(await summary(db, owned.id)).toMatchObject({ state: 'verified', open: 0, repaired: 18 })
  })

  test('keeps no more differences than its provider bears questions about', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { server, world } = openInbox(20)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    await sql`delete from message where subject > 'content 1'`.execute(db)
    await request(db, owned)
    const asked: number[] = []
    const bounded = (): MailProvider => {
      const { mail } = memoryMail(server)
      const locate: MailProvider['locate'] = (at, keys) => {
        asked.push(keys.length)
        return mail.locate(at, keys)
      }
      return { ...mail, locate, differencesMax: 6 }
    }
    await verify(db, owned, { connect: bounded })

    expect(Math.max(...asked)).toBe(6)
    expect(await summary(db, owned.id)).toMatchObject({ state: 'verified', open: 0, repaired: 18 })
  })

  test.each([
    ['differs', sql`update message set is_flagged = true where subject = 'one'`, false],
    ['is lacking, and is fetched', sql`delete from message where subject = 'one'`, true],
  ])(
    'proves nothing while a message about which the provider does not answer %s',
    async (_case, damaging, isFetched) => {
      await using database = await openTestDatabase()
      const { db } = database
      const server = new LogServer('labels')
      const inbox = server.create('INBOX', 'inbox')
      for (const subject of ['one', 'two']) server.deliver([inbox.key], subject, new Date(1.7e12))
      const owned = await ownAccount(db)
      const world = { connect: () => logMail(server).mail }
      await passUntilCaughtUp(db, owned, world)
      const truth = await readPlaces(db)
      await damaging.execute(db)
      await request(db, owned)
      const locate: MailProvider['locate'] = async (_, keys) => ({
        found: new Map(),
        gone: [],
        unreadable: keys.map(key => ({ key, reason: 'a test' })),
      })
      await verify(db, owned, { connect: () => ({ ...logMail(server).mail, locate }) })

      expect(await summary(db, owned.id)).toMatchObject({ state: 'unverified', open: 0 })
      await passUntilCaughtUp(db, owned, world)
      expect(isDeepStrictEqual(await readPlaces(db), truth)).toBe(isFetched)
      await request(db, owned)
      await verify(db, owned, world)
      expect(await readPlaces(db)).toEqual(truth)
      expect((await summary(db, owned.id)).state).toBe('verified')
    },
  )
})
