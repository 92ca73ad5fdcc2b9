import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { numberedFolders } from '../../../../test/mail-worlds.ts'
import { commitChange, findMailbox, listUnfollowed } from '../../../../test/index-steps.ts'
import {
  openSession,
  ownAccount,
  passUntilCaughtUp,
  readFeed,
  readIndex,
  readPlaces,
  runFrom,
} from '../../../../test/memory-account.ts'
import { MemoryServer, memoryMail } from '../../../../test/memory-mail.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleMessages } from '../../../../test/sample-rows.ts'
import { seeded } from '../../../../test/seeded.ts'
import { recordDeletedMailbox, recordRenamedMailboxes } from '../mailboxes/record-changes.ts'
import { listPlacedMailboxes } from '../mailboxes/store.ts'
import { recordChangedKeys } from '../messages/record-changed-keys.ts'
import { recordAdded } from '../messages/record-changes.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { bringArrivals } from './bring-arrivals.ts'

/** The index of a server with an inbox and the mailbox Work. */
async function openIndexed(arrange: (server: MemoryServer) => unknown = () => {}) {
  const database = await openTestDatabase()
  const { db } = database
  const server = new MemoryServer()
  server.create('INBOX', 'inbox')
  server.create('Work')
  arrange(server)
  const world = { connect: () => memoryMail(server).mail }
  const owned = await ownAccount(db)
  await passUntilCaughtUp(db, owned, world)
  return { db, server, world, owned, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}

describe('a pass over mailboxes that are deleted meanwhile', () => {
  test('deletes the messages of a deleted mailbox in steps, each once, although one of them fails', async () => {
    await using indexed = await openIndexed()
    const { db, server, world, owned } = indexed
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
    await expect(runFrom({ ...session, progressed })).rejects.toThrow('the process ended')
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

  test('keeps the id of a message that left a deleted mailbox, before a pass looks for the ones that stayed', async () => {
    await using indexed = await openIndexed(mail => mail.deliver('Work', 'content 1', new Date(1.7e12)))
    const { db, server, world, owned } = indexed
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

  test(
    'deletes a message that was added to a mailbox while that was deleted',
    { tags: ['postgres-16'] },
    async () => {
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
    },
  )

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
    await using indexed = await openIndexed()
    const { db, server, world, owned } = indexed
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
    await runFrom(session).catch((error: unknown) => {
      if (!(error instanceof ProviderFailure)) throw error
    })

    expect(await listUnfollowed(db)).toEqual([])
    await passUntilCaughtUp(db, owned, world)
    expect(await readIndex(db)).toEqual([])
    const events = (await readFeed(db)).map(({ type }) => type)
    expect(events).toEqual(['account.initialized', 'mailbox.deleted'])
  })
})
