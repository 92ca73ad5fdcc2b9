import { listChangedKeys } from '../../messages/record-changed-keys.ts'
import type { ComparedCounts } from '../../comparisons/rules.ts'
import type { LocatedMessage, MessageKey } from '../../../../providers/mail.ts'
import { compareSource } from '../compare-source.ts'
import type { PassOutcome } from '../pass.ts'
import type { Pause } from '../../../../sync/pause.ts'
import type { Session } from '../session.ts'
import { findCursor } from '../source-store.ts'
import { type Candidate, type Comparison, placedAs } from './comparison.ts'
import { isEqual, type Placed, tally, tallyOther } from './differences.ts'
import { findIndexed, findOthers, findSought } from './indexed.ts'

/** Rounds after which a mailbox that others keep changing is left to a later comparison. */
const ROUNDS_MAX = 5
const LOCATED_AT_ONCE = 500

/** A message in which the index differs from its provider. Null: it is not there. */
export interface Difference {
  key: MessageKey
  there: Placed | null
  here: Placed | null
}

export interface Settled {
  counts: Map<string, ComparedCounts>
  differences: Difference[]
  /** Numbers under which the provider has other messages than the index. */
  others: MessageKey[]
  /** Messages about which the listing and the answer to a question contradict each other. */
  contradicted: MessageKey[]
  /** Messages that differ by the listing, and about which the provider does not answer. */
  unanswered: Array<{ key: MessageKey; isLacking: boolean }>
}

export type Passed = Pick<PassOutcome, 'hasMore' | 'pause'>

/** Thrown if an ordinary pass did not get to its end. The candidates can be settled when one has. */
export class PassUnfinished extends Error {
  /** The time after which the pass can go on; null: at once. */
  readonly pause: Pause | null

  constructor(pause: Pause | null) {
    super('a pass did not get to its end')
    this.name = 'PassUnfinished'
    this.pause = pause
  }
}

/**
 * Finds out which candidates are differences. The mailbox may have changed since it was listed, so each round first
 * makes an ordinary pass and then looks up the candidates at the provider again. A candidate that differs in two
 * rounds, the last of which ended with a source that has not changed since its cursor, differs for certain: at that
 * cursor, the index should equal the source.
 * @param pass makes an ordinary pass
 * @returns null if the source did not come to rest
 * @throws PassUnfinished
 */
export async function settleCandidates(
  session: Session,
  comparison: Comparison,
  pass: () => Promise<Passed>,
): Promise<Settled | null> {
  const { followed, candidates } = comparison
  // Copies, so that a connection that breaks here loses nothing that was read.
  const counts = new Map([...comparison.counts].map(([id, counted]) => [id, { ...counted }]))
  const settled: Settled = { counts, differences: [], others: [], contradicted: [], unanswered: [] }
  let open = new Map(candidates)
  for (let round = 1; open.size > 0; round++) {
    if (round > ROUNDS_MAX) return null
    const { hasMore, pause } = await pass()
    if (hasMore) throw new PassUnfinished(pause)
    await compareSource(session, followed, { isThorough: true })
    const looked = await look(session, comparison, open)
    const isCertain = round > 1 && (await isUnchanged(session, comparison))
    const differing = new Map<MessageKey, Candidate>()
    for (const [key, candidate] of open) {
      const { there, here, isOther, isMarked, isUnreadable } = looked.get(key)!
      const isGone = isOutside(session, candidate) && here === null
      if (isUnreadable) {
        tally(counts, here, here)
        const isLacking = here === null
        if (!isGone && (candidate.wasListed || !isLacking)) settled.unanswered.push({ key, isLacking })
        continue
      }
      if ((isOther || !isEqual(there, here)) && !isGone) {
        if (!isCertain || isMarked) differing.set(key, candidate)
        else if (isOther) {
          settled.others.push(key)
          tallyOther(counts, there, here)
        } else {
          settled.differences.push({ key, there, here })
          tally(counts, there, here)
        }
        continue
      }
      tally(counts, there && here, here)
      // A listing that leaves out existing messages, or names missing ones, may have other faults.
      const isThere = there?.mailboxIds.some(id => counts.has(id)) ?? false
      if (candidate.wasListed ? there === null : isThere) settled.contradicted.push(key)
    }
    open = differing
  }
  return addBeyond(settled, comparison)
}

/**
 * Adds the differences that the comparison did not keep. They were not looked up again, so they count only in a mailbox
 * in which a kept candidate differs for certain.
 */
function addBeyond(settled: Settled, { isCapped, unplaced, beyond }: Comparison): Settled | null {
  if (!isCapped || settled.contradicted.length > 0) return settled
  if (settled.differences.length + settled.others.length + unplaced.size === 0) return null
  for (const [mailboxId, more] of beyond) {
    const count = settled.counts.get(mailboxId)!
    count.listed += more.listed
    count.indexed += more.indexed
    count.missing += more.missing
    count.extra += more.extra
    count.changed += more.changed
  }
  return settled
}

/** Whether the message has fallen out of the sync window since it was listed. */
function isOutside({ since }: Session, { receivedAt }: Candidate): boolean {
  return since !== null && receivedAt !== null && receivedAt < since
}

interface Looked {
  there: Placed | null
  here: Placed | null
  /** The provider has another message there than the index. */
  isOther: boolean
  /** The sync has not looked it up since it was marked as changed, or a change log hinted that it is gone. */
  isMarked: boolean
  /** The provider does not report its state, so it cannot be compared. */
  isUnreadable: boolean
}

async function look(
  session: Session,
  { followed }: Comparison,
  candidates: ReadonlyMap<MessageKey, Candidate>,
): Promise<Map<MessageKey, Looked>> {
  const { db, owned, provider } = session
  const keys = [...candidates.keys()]
  const looked = new Map<MessageKey, Looked>()
  for (let at = 0; at < keys.length; at += LOCATED_AT_ONCE) {
    const some = keys.slice(at, at + LOCATED_AT_ONCE)
    const cursor = await findCursor(db, owned.id, followed.source)
    const { found, unreadable } = await provider.locate({ source: followed.source, cursor }, some)
    const unreadableKeys = new Set(unreadable.map(({ key }) => key))
    session.progressed()
    const indexed = await findIndexed(db, owned.id, followed, some)
    const doubtful = some.filter(key => candidates.get(key)?.isOther && found.has(key) && indexed.has(key))
    const others = await findOthers(session, followed, new Map(doubtful.map(key => [key, indexed.get(key)!])))
    const marked = new Set((await listChangedKeys(db, owned.id, followed.source)).map(({ key }) => key))
    const sought = await findSought(db, owned.id, some)
    for (const key of some) {
      looked.set(key, {
        there: placed(session, found.get(key)),
        here: indexed.get(key) ?? null,
        isOther: others.has(key),
        isMarked: marked.has(key) || sought.has(key),
        isUnreadable: unreadableKeys.has(key),
      })
    }
  }
  return looked
}

function placed(session: Session, located: LocatedMessage | undefined): Placed | null {
  return located ? placedAs(session, located.flags, located.mailboxKeys) : null
}

/** Whether the source has not changed since its cursor was stored. */
async function isUnchanged(session: Session, { followed }: Comparison): Promise<boolean> {
  const { db, owned, provider } = session
  const remotes = await provider.listMailboxes()
  session.progressed()
  const cursor = await findCursor(db, owned.id, followed.source)
  const own = remotes.filter(({ source }) => source === followed.source)
  return own.length > 0 && own.every(remote => !provider.hasChanged(remote, cursor))
}
