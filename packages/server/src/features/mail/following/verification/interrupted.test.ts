/** @module-tag postgres-16-in-soak */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openSession, ownAccount, passUntilCaughtUp, runFrom } from '../../../../../test/memory-account.ts'
import { memoryMail } from '../../../../../test/memory-mail.ts'
import { openTestDatabase } from '../../../../../test/open-database.ts'
import { openInbox, request, summary, verify, verifyOnce } from '../../../../../test/verify-mail.ts'
import { ProviderFailure } from '../../../../providers/failure.ts'
import type { MailProvider } from '../../../../providers/mail.ts'
import { type BulkPermit, BulkPermits, BulkRequest } from '../../../../sync/bulk-permits.ts'
import type { Pause } from '../../../../sync/pause.ts'
import { Verification } from './verification.ts'

/** Permits for which an account waits only briefly. */
class ImpatientPermits extends BulkPermits {
  override acquire(asked: BulkRequest, _waitMs: number, signal: AbortSignal): Promise<BulkPermit | null> {
    return super.acquire(asked, 1, signal)
  }
}

describe('verification that is interrupted or disturbed', () => {
  test('makes another pass soon if it did not get its turn, and compares then', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { world } = openInbox(5)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    await request(db, owned)
    const session = await openSession(db, owned, world.connect())
    const { sources } = await runFrom(session)
    const bulkPermits = new ImpatientPermits(1)
    const held = await bulkPermits.acquire(new BulkRequest('another tenant'), 0, session.signal)
    const verification = new Verification()
    const options = { bulkPermits, pass: () => runFrom(session), mustStop: () => false }
    const next = await verification.proceed(session, sources, options)

    expect(next).toEqual({ mustPass: true, pause: { seconds: 20, reason: 'for its turn' } })
    expect((await summary(db, owned.id)).state).toBe('unverified')
    held?.[Symbol.dispose]()
    expect(await verification.proceed(session, sources, options)).toEqual({ mustPass: false, pause: null })
    expect((await summary(db, owned.id)).state).toBe('verified')
  })

  test.each<[string, Pause | null]>([
    ['a pause', { seconds: 600, reason: 'for a test' }],
    ['a slice', null],
  ])('continues where it was when the pass that settles it is broken off for %s', async (_, pause) => {
    await using database = await openTestDatabase()
    const { db } = database
    const { server, world } = openInbox(5)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    await sql`update message set is_flagged = true where subject = 'content 3'`.execute(db)
    const state = { lists: 0, isBroken: true }
    const { mail } = memoryMail(server)
    const list: MailProvider['list'] = (at, options) => {
      state.lists++
      return mail.list(at, options)
    }
    const session = await openSession(db, owned, { ...mail, list })
    const { sources } = await runFrom(session)
    await request(db, owned)
    const verification = new Verification()
    const options = {
      bulkPermits: new BulkPermits(1),
      pass: async () => {
        const outcome = await runFrom(session)
        return state.isBroken ? { hasMore: true, pause } : outcome
      },
      mustStop: () => false,
    }
    const next = await verification.proceed(session, sources, options)

    expect(next).toEqual({ mustPass: true, pause })
    expect((await summary(db, owned.id)).open).toBe(0)
    state.isBroken = false
    await verification.proceed(session, sources, options)
    expect([(await summary(db, owned.id)).open, state.lists]).toEqual([1, 1])
  })

  test('puts a comparison off whose passes are broken off again and again', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { world } = openInbox(5)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    await sql`update message set is_flagged = true where subject = 'content 3'`.execute(db)
    const session = await openSession(db, owned, world.connect())
    const { sources } = await runFrom(session)
    await request(db, owned)
    const verification = new Verification()
    const options = {
      bulkPermits: new BulkPermits(1),
      pass: async () => ({ hasMore: true, pause: null }),
      mustStop: () => false,
    }
    const mustPass: boolean[] = []
    while (mustPass.at(-1) !== false)
      mustPass.push((await verification.proceed(session, sources, options)).mustPass)

    expect(mustPass).toEqual([true, true, true, true, false])
  })

  test('continues a comparison after a broken connection where it was', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { server, world } = openInbox(20)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    await request(db, owned)
    const listed: unknown[] = []
    const breaking = (): MailProvider => {
      const { mail } = memoryMail(server)
      return {
        ...mail,
        async list(at, options) {
          listed.push(options.after?.['above'] ?? 0)
          if (listed.length === 2) throw new ProviderFailure('unavailable', 'the connection broke')
          return mail.list(at, options)
        },
      }
    }
    await verify(db, owned, { connect: breaking })

    expect(listed).toEqual([0, 7, 7, 14])
    expect((await summary(db, owned.id)).state).toBe('verified')
  })

  test('gives a comparison up that fails again and again', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { server, world } = openInbox(5)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    await request(db, owned)
    let lists = 0
    const list = () => Promise.reject(new ProviderFailure('unavailable', `the connection broke ${++lists}`))
    await verify(db, owned, { connect: () => ({ ...memoryMail(server).mail, list }) })

    expect(lists).toBe(3)
    expect((await summary(db, owned.id)).state).toBe('unverified')
  })

  test('drops the comparison of a mailbox that is renumbered meanwhile, and keeps the connection', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { server, world } = openInbox(20)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    await request(db, owned)
    const { mail } = memoryMail(server)
    const renumbered: MailProvider = {
      ...mail,
      list(at, options) {
        if (options.after) server.renumber('INBOX')
        return mail.list(at, options)
      },
    }
    const verifying = verifyOnce(db, owned, { connect: () => renumbered }, new Verification())

    await expect(verifying).resolves.toBe(false)
    await request(db, owned)
    await verify(db, owned, world)
    expect((await summary(db, owned.id)).state).toBe('verified')
  })

  test.each([1, 2])('believes no difference while a message keeps changing (rounds: %i)', async rounds => {
    await using database = await openTestDatabase()
    const { db } = database
    const { server, world } = openInbox(5)
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, world)
    await request(db, owned)
    let [lists, locates] = [0, 0]
    const flip = () => {
      const [first] = server.get('INBOX').messages
      first!.isFlagged = !first!.isFlagged
    }
    const changing = (): MailProvider => {
      const { mail } = memoryMail(server)
      return {
        ...mail,
        list(at, options) {
          if (lists++ === 0) flip()
          return mail.list(at, options)
        },
        locate(at, keys) {
          if (++locates <= rounds) flip()
          return mail.locate(at, keys)
        },
      }
    }
    const openMax = await verify(db, owned, { connect: changing })

    expect([openMax, locates]).toEqual([0, rounds + 1])
    expect((await summary(db, owned.id)).state).toBe('verified')
  })
})
