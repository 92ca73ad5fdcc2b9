import { DatabaseError } from 'pg'
import type { Db } from '../../../database/pool.ts'
import { isUnmet } from '../../../database/precondition.ts'
import { DatabaseUnavailable } from '../../../database/unavailable.ts'
import { inTransaction, type Transact, type UnitOfWork } from '../../../events/unit-of-work.ts'
import { inGroupsByKey } from '../../../kit/in-groups.ts'
import { hasList } from '../suppressions/record-lists.ts'
import type { AccountSend, InsertedSend } from './new-send.ts'
import { countInserted, insertSends, planInserted } from './insert-sends.ts'

/** Sends that are accepted by one commit, and the bytes of their contents. */
const GROUP_MAX = 32
const GROUP_BYTES_MAX = 4 * 1024 * 1024
/** A commit that takes longer, such as one that waits for the count of its plan, does not hold up others. */
const PATIENCE_MILLISECONDS = 250
const SLOW_MAX = 3
/** A group waits at most this long while more sends are being composed than it has. */
const GATHERING_MILLISECONDS = 5
/** PostgreSQL's classes of errors that each send would meet alone, too: a full disk, locks, timeouts, the system. */
const COMMON_CODES = /^(?:53|55|57|58)/

/** Lets calls that accept sends share their transactions. */
export interface SharedAccepts {
  /**
   * Registers a send that is being composed, so that a shared commit waits for it. Dispose the result when the send is
   * accepted or refused.
   */
  expect(tenantId: string): Disposable
  /**
   * The transaction of one call. Sends that the calls of a tenant accept while one of its transactions runs are
   * inserted by the next one, as far as they certainly may be sent. Each of the others has a transaction of its own,
   * for which no group waits.
   * @param onBegun called before the work of the call: null if the call inserts the send itself
   */
  transactFor(accepting: TimedSend, onBegun: (inserted: InsertedSend | null) => void): Transact
}

/** A send, and the time by the database if it may be taken to be accepted; else null. */
interface TimedSend extends AccountSend {
  now: (() => Date) | null
}

/** The outcome of a send in its group. A send that is left out is to be accepted alone. */
type Outcome = 'accepted' | 'left_out' | { error: unknown }

interface Accepting extends TimedSend {
  tenantId: string
  write(unit: UnitOfWork, inserted: InsertedSend | null): Promise<void>
}

export function openSharedAccepts(db: Db): SharedAccepts {
  const composing = new Counts()
  const acceptInGroup = inGroupsByKey<Accepting, Outcome>({
    keyOf: ({ tenantId }) => tenantId,
    work: (_, all) => acceptGroup(db, all),
    itemsMax: GROUP_MAX,
    size: { of: ({ send }) => send.content.piece?.length ?? 0, max: GROUP_BYTES_MAX },
    // A group never fails as a whole.
    failsAlone: () => true,
    more: {
      isAwaited: (tenantId, count) => composing.of(tenantId) > count,
      milliseconds: GATHERING_MILLISECONDS,
    },
    patience: { milliseconds: PATIENCE_MILLISECONDS, slowMax: SLOW_MAX },
  })
  return {
    expect(tenantId) {
      composing.add(tenantId, 1)
      return { [Symbol.dispose]: () => composing.add(tenantId, -1) }
    },
    transactFor: (accepting, onBegun) => async (_, tenantId, work) => {
      const result: { value?: Awaited<ReturnType<typeof work>> } = {}
      const one: Accepting = {
        ...accepting,
        tenantId,
        async write(unit, inserted) {
          onBegun(inserted)
          result.value = await work(unit)
        },
      }
      // It is composed.
      composing.add(tenantId, -1)
      try {
        const outcome = await acceptInGroup(one)
        if (outcome === 'left_out') await acceptAlone(db, one)
        else if (outcome !== 'accepted') throw outcome.error
      } finally {
        composing.add(tenantId, 1)
      }
      // Nothing resolves before it is written.
      return result.value!
    },
  }
}

/**
 * Accepts a group. If it is rolled back because of one of them, that one is found by halving the group, one transaction
 * after the other, so that a call that fails takes no more than one connection from others.
 */
async function acceptGroup(db: Db, all: readonly Accepting[]): Promise<Outcome[]> {
  try {
    const [one] = all
    const row = all.length === 1 ? planInserted(one!) : null
    return row ? [await acceptAssumed(db, one!, row)] : await acceptTogether(db, all)
  } catch (error) {
    if (all.length === 1 || isCommon(error)) return all.map(() => ({ error }))
    const middle = Math.ceil(all.length / 2)
    const first = await acceptGroup(db, all.slice(0, middle))
    return [...first, ...(await acceptGroup(db, all.slice(middle)))]
  }
}

/** Whether the fault is in none of the sends. */
function isCommon(error: unknown): boolean {
  return (
    error instanceof DatabaseUnavailable ||
    (error instanceof DatabaseError && COMMON_CODES.test(error.code ?? ''))
  )
}

async function acceptAlone(db: Db, one: Accepting): Promise<void> {
  await inTransaction(db, one.tenantId, unit => one.write(unit, null))
}

/** Sends all that is to be recorded, and the commit, without waiting for an answer in between. */
async function acceptAssumed(db: Db, one: Accepting, row: InsertedSend): Promise<Outcome> {
  try {
    await inTransaction(db, one.tenantId, async unit => {
      await insertSends(unit, [one], { planned: row })
      await one.write(unit, row)
    })
    return 'accepted'
  } catch (error) {
    if (isUnmet(error)) return 'left_out'
    throw error
  }
}

function acceptTogether(db: Db, all: readonly Accepting[]): Promise<Outcome[]> {
  return inTransaction(db, all[0]!.tenantId, async unit => {
    const sure = await withKnownLists(unit, all)
    const inserted = await countInserted(
      unit,
      sure,
      await insertSends(unit, sure, { unsendable: 'leave_out' }),
    )
    for (const one of all) {
      const row = inserted.get(one.send.id)
      if (row) await one.write(unit, row)
    }
    return all.map(({ send }): Outcome => (inserted.has(send.id) ? 'accepted' : 'left_out'))
  })
}

/**
 * The sends that name no list, or an existing one. Only a call alone creates a list: it does so before its send is
 * counted, and a group that did so afterwards could wait for it while it waits for the group.
 */
async function withKnownLists(unit: UnitOfWork, all: readonly Accepting[]): Promise<Accepting[]> {
  const missing = new Set<string>()
  for (const listId of new Set(all.flatMap(({ send }) => send.listId ?? [])))
    if (!(await hasList(unit, listId))) missing.add(listId)
  return all.filter(({ send: { listId } }) => listId === null || !missing.has(listId))
}

/** Counts by key. */
class Counts {
  readonly #counts = new Map<string, number>()

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  add(key: string, count: number): void {
    const sum = this.of(key) + count
    if (sum === 0) this.#counts.delete(key)
    else this.#counts.set(key, sum)
  }
}
