/** @module-tag postgres-16-in-soak */
import { describe, expect, test } from 'vitest'
import {
  labelledHistory,
  loggedFolders,
  type MailWorld,
  numberedFolders,
} from '../../../../test/mail-worlds.ts'
import { commitChange, findMailbox, listUnfollowed } from '../../../../test/index-steps.ts'
import {
  type FeedEvent,
  type IndexedMessage,
  openSession,
  ownAccount,
  pass,
  passUntilCaughtUp,
  readFeed,
  readIndex,
  readPlaces,
  runFrom,
} from '../../../../test/memory-account.ts'
import { InterfaceHand } from '../../../../test/mail-hand.ts'
import { MemoryServer, memoryMail } from '../../../../test/memory-mail.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { seeded } from '../../../../test/seeded.ts'
import type { Db } from '../../../database/pool.ts'
import { recordRenamedMailboxes } from '../mailboxes/record-changes.ts'
import { listMessageLocations } from '../messages/location.ts'
import { recordMoves } from '../messages/record-changes.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { OwnedAccount } from '../../../accounts/halves/ownership.ts'

const held = (content: string, mailboxIds: readonly string[]) =>
  `${content} in ${mailboxIds.toSorted().join()}`

/** Folds the feed over the state of the index when the account was initialized. */
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

async function passDisturbed(db: Db, owned: OwnedAccount, world: MailWorld): Promise<void> {
  for (let passes = 0; passes < 15; passes++) {
    await pass(db, owned, world).catch((error: unknown) => {
      if (!(error instanceof ProviderFailure)) throw error
    })
  }
}

/** The index equals the world, and so does the copy that a reader of the feed has made. */
async function expectTrue(db: Db, world: MailWorld, initial: readonly IndexedMessage[]): Promise<void> {
  expect(await readPlaces(db)).toEqual(world.truth())
  expect(await listUnfollowed(db)).toEqual([])
  const index = await readIndex(db)
  const feed = await readFeed(db)
  expect(fold(initial, feed)).toEqual(
    index.map(({ content, mailboxIds }) => held(content, mailboxIds)).toSorted(),
  )
  // Contents are unique, so each message that moved or was renumbered keeps its id: none is created or deleted twice.
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
/** On PostgreSQL 16 a run is for its SQL alone, which is that of any provider. */
const NAMES = process.env['WAXWING_TEST_PG'] === '16' ? ['numberedFolders'] : Object.keys(WORLDS)
/** Enough for a run with others and one without them. The soak tries hundreds. */
const SEEDS_DEFAULT = 2
const SEEDS = Array.from(
  { length: Number(process.env['WAXWING_TEST_PASSES'] ?? SEEDS_DEFAULT) },
  (_, index) => index + 1,
)
  // That of the second seed has others.
  .filter(seed => process.env['WAXWING_TEST_PG'] !== '16' || seed === 2)

describe('runPass', () => {
  const attacks = NAMES.flatMap(name => SEEDS.map(seed => [name as keyof typeof WORLDS, seed] as const))
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
      // In every second run there are no other changes, so that announcements can be counted.
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

  test('holds the messages of one step at a time: each is indexed before the next ones are fetched', async () => {
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
    await runFrom({ ...session, provider })
    expect(await readIndex(db)).toHaveLength(300)
    expect(waiting.length).toBeGreaterThan(10)
    expect(waiting.filter(count => count !== 0)).toEqual([])
  })
})
