/** @module-tag postgres-16 */
import { setTimeout as pause } from 'node:timers/promises'
import { sql, type Transaction } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleTenant } from '../../../../test/sample-rows.ts'
import { type Random, seeded } from '../../../../test/seeded.ts'
import type { Db } from '../../../database/pool.ts'
import type { Tables } from '../../../database/tables.ts'
import { appendEvents } from '../../../events/append.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { type Announcement } from '../../../events/announcement.ts'
import { readFeed } from './store.ts'

const WRITERS = 14
const POLLERS = 5
const TRANSACTIONS_A_WRITER = 30
const DELAY_MS_MAX = 6
const ROLLBACK_PROBABILITY = 0.1
/** After the last write. */
const POLLS_MAX = 10_000
const TRIES_MAX = 10

/** Runs the work in a transaction that appends the events before its commit. */
type Commit = (
  db: Db,
  tenantId: string,
  events: readonly Announcement[],
  work: () => Promise<void>,
) => Promise<void>

class DeliberateRollback extends Error {}

/** The notes of the events that a reader got which only moves its cursor forward. */
interface Reading {
  notes: string[]
  ids: bigint[]
}

/**
 * Writers append batches in transactions with delays and some rollbacks, while pollers follow the feed from its start
 * with pages of any size. Returns the committed events, and the events that each poller read.
 */
async function followWhileWriting(db: Db, seed: string, commit: Commit) {
  const tenant = await sampleTenant(db)
  const random = seeded(seed)
  const committed: string[] = []
  let isWriting = true

  async function write(writer: number, own: Random) {
    for (let nth = 0; nth < TRANSACTIONS_A_WRITER; nth++) {
      const batch = Array.from({ length: own.between(1, 4) }, (_, item) => `${writer}/${nth}/${item}`)
      const isRolledBack = own.chance(ROLLBACK_PROBABILITY)
      try {
        await commit(db, tenant.id, batch.map(toAnnouncement), async () => {
          await pause(own.between(0, DELAY_MS_MAX))
          if (isRolledBack) throw new DeliberateRollback()
        })
        committed.push(...batch)
      } catch (error) {
        if (!(error instanceof DeliberateRollback)) throw error
      }
    }
  }

  async function poll(own: Random): Promise<Reading> {
    const reading: Reading = { notes: [], ids: [] }
    const filter = {
      tenantId: tenant.id,
      accountIds: null,
      types: own.chance(0.5) ? (['contact.created'] as const) : null,
    }
    let after = '0'
    for (let polls = 0; polls < POLLS_MAX;) {
      const wasWriting = isWriting
      if (!wasWriting) polls++
      const page = await readFeed(db, filter, after, own.between(1, 60))
      for (const { json } of page.items) {
        const event = JSON.parse(json) as { id: string; data: { note: string } }
        reading.notes.push(event.data.note)
        reading.ids.push(BigInt(event.id))
      }
      // If this page was requested after the last write and is empty, it is the end.
      if (!wasWriting && page.items.length === 0) return reading
      after = page.readUpTo
      await pause(own.between(0, 2))
    }
    throw new Error('The feed has no end')
  }

  const pollers = Array.from({ length: POLLERS }, (_, nth) => poll(random.fork(`poller ${nth}`)))
  try {
    await Promise.all(Array.from({ length: WRITERS }, (_, nth) => write(nth, random.fork(`writer ${nth}`))))
  } finally {
    isWriting = false
  }
  return { tenantId: tenant.id, committed, readings: await Promise.all(pollers) }
}

const toAnnouncement = (note: string): Announcement => ({
  type: 'contact.created',
  accountId: null,
  // The feed passes data on as it is.
  data: { note } as never,
})

const idOf = ({ id }: { id: string }) => BigInt(id)

/** Lists how a reading violates the promise of the feed. */
function violationsOf(committed: readonly string[], { notes, ids }: Reading) {
  const seen = new Set(notes)
  return {
    missed: committed.filter(note => !seen.has(note)).length,
    repeated: notes.length - seen.size,
    neverCommitted:
      notes.length - committed.filter(note => seen.has(note)).length - (notes.length - seen.size),
    outOfOrder: ids.filter((id, at) => at > 0 && id <= ids[at - 1]!).length,
  }
}

const NONE = { missed: 0, repeated: 0, neverCommitted: 0, outOfOrder: 0 }

/** Commits as the service does: the work comes first, and nothing between the events and the commit. */
const inOrder: Commit = (db, tenantId, events, work) =>
  inTransaction(db, tenantId, async unit => {
    unit.announce(...events)
    await work()
  })

/** Delays the commit after the ids were taken, or rolls back. */
function dawdling(append: typeof appendEvents): Commit {
  return (db, tenantId, events, work) =>
    db.transaction().execute(async tx => {
      await append(tx, tenantId, events)
      await work()
    })
}

/** Acts like `appendEvents` without the tenant's lock. */
async function appendWithoutLock(
  tx: Transaction<Tables>,
  tenantId: string,
  announcements: readonly Announcement[],
) {
  await sql`
    insert into event (tenant_id, id, account_id, type, data)
    select ${tenantId}::uuid, nextval('event_id'), null, type, data
    from unnest(
      ${announcements.map(({ type }) => type)}::text[],
      ${announcements.map(({ data }) => JSON.stringify(data))}::json[]
    ) as announced (type, data)
  `.execute(tx)
}

describe('the change feed under concurrent writers', () => {
  const seed = process.env['FEED_SEED'] ?? 'feed'

  for (const [name, commit] of [
    ['committing like the service', inOrder],
    ['however long commits take', dawdling(appendEvents)],
  ] as const) {
    test(`gives every poller every event once and in order, ${name} (FEED_SEED=${seed})`, async () => {
      await using database = await openTestDatabase({ connectionsMax: WRITERS + POLLERS })
      const { committed, readings, tenantId } = await followWhileWriting(database.db, seed, commit)
      for (const reading of readings) expect(violationsOf(committed, reading)).toEqual(NONE)

      // A reader that starts from any position gets exactly the events that the others got after it.
      const { ids } = readings[0]!
      const random = seeded(seed).fork('positions')
      for (let round = 0; round < 50; round++) {
        const at = random.between(0, ids.length - 1)
        const limit = random.between(1, 200)
        const filter = { tenantId, accountIds: null, types: null }
        const page = await readFeed(database.db, filter, String(ids[at]), limit)
        expect(page.items.map(idOf)).toEqual(ids.slice(at + 1, at + 1 + limit))
      }
    })
  }

  test(`would lose events without the lock, as this test can detect (FEED_SEED=${seed})`, async () => {
    await using database = await openTestDatabase({ connectionsMax: WRITERS + POLLERS })
    const commit = dawdling(appendWithoutLock)
    const losesSome = async (nth: number) => {
      const { committed, readings } = await followWhileWriting(database.db, `${seed}/${nth}`, commit)
      return readings.some(reading => violationsOf(committed, reading).missed > 0)
    }
    // One time is nearly always enough, but a matter of luck.
    let tries = 1
    while (!(await losesSome(tries))) expect(tries++).toBeLessThan(TRIES_MAX)
  })
})
