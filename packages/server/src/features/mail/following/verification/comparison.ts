import { sql } from 'kysely'
import type { Db } from '../../../../database/pool.ts'
import type { ComparedCounts } from '../../comparisons/rules.ts'
import { type FollowedSource, isDraftIn } from '../../messages/rules.ts'
import { newId } from '../../../../kit/ids.ts'
import type { Cursor, ListedMessage, MessageKey, RemoteFlags } from '../../../../providers/mail.ts'
import type { Session } from '../session.ts'
import { findCursor, listSuspected } from '../source-store.ts'
import { isEqual, noCounts, type Placed, seemsOther, tally, tallyOther } from './differences.ts'
import { findIndexed, findOthers, type IndexPosition, listIndexedKeys } from './indexed.ts'
import { KeySet } from './key-set.ts'

/** Keys of differences kept of one comparison; more are only counted. When these are repaired, the next one finds more. */
export const CANDIDATES_MAX = 10_000
const KEYS_PER_LOOKUP = 1_000
const KEYS_PER_PAGE = 10_000
/** RFC 9562 section 4.1. */
const VERSION_AT = 14

/** A message that the provider listed and the index has otherwise, or the reverse. It may just have changed. */
export interface Candidate {
  wasListed: boolean
  receivedAt: Date | null
  /** Whether its header belonged to another message. */
  isOther: boolean
}

/** The state of the source when its comparison began. Messages that came later are not compared. */
interface Beginning {
  cursor: Cursor
  uidMax: number
  messageId: string
  /** Time since which the numbers of the source were under suspicion; null if they were not. */
  suspectedAt: string | null
}

/**
 * One comparison of a source with the index, page by page: first the messages that the provider lists, then the ones
 * that only the index has. Between two pages anything else may happen, on other connections too. It keeps a few bytes
 * for each message.
 */
export class Comparison {
  readonly followed: FollowedSource
  /** Counts of messages that are equal, by mailbox. */
  readonly counts: Map<string, ComparedCounts>
  readonly candidates = new Map<MessageKey, Candidate>()
  /** Messages of numbered mailboxes without a number. */
  readonly unplaced = new Set<string>()
  /** Counts of the messages that seem to differ beyond the candidates, by mailbox. */
  readonly beyond: Map<string, ComparedCounts>
  /** Whether there were more differences than are kept. */
  isCapped = false
  readonly #candidatesMax: number
  readonly #seen = new KeySet()
  #beginning: Beginning | null = null
  #after: Cursor | null = null
  /** Listed messages that are not compared yet. A connection that breaks while headers are read leaves them here. */
  #waiting: ListedMessage[] = []
  #isListed = false
  #isRead = false
  #indexAfter: IndexPosition | null = null

  constructor(followed: FollowedSource, candidatesMax: number) {
    this.followed = followed
    this.counts = new Map(followed.mailboxes.map(({ id }) => [id, noCounts()]))
    this.beyond = new Map(followed.mailboxes.map(({ id }) => [id, noCounts()]))
    this.#candidatesMax = candidatesMax
  }

  /** Time since which the numbers of the source were under suspicion when the comparison began. */
  get suspectedAt(): string | null {
    return this.#beginning?.suspectedAt ?? null
  }

  /** Reads one more page, or compares a part of it. @returns whether there is more to do */
  async readPage(session: Session): Promise<boolean> {
    if (this.#isRead) return false
    this.#beginning ??= await begin(session, this.followed)
    if (this.#waiting.length > 0) {
      await this.#compare(session, this.#waiting.slice(0, KEYS_PER_LOOKUP))
      this.#waiting.splice(0, KEYS_PER_LOOKUP)
      return true
    }
    if (!this.#isListed) {
      await this.#readListed(session, this.#beginning)
      return true
    }
    return this.#readIndexed(session, this.#beginning)
  }

  async #readListed(session: Session, { cursor }: Beginning): Promise<void> {
    const { provider, since, signal } = session
    const at = { source: this.followed.source, cursor }
    const page = await provider.list(at, { since, after: this.#after, signal })
    session.progressed()
    this.#waiting = page.messages.filter(({ key }) => this.#seen.add(key))
    this.#after = page.next
    this.#isListed = page.next === null
  }

  async #compare(session: Session, listed: readonly ListedMessage[]): Promise<void> {
    const { db, owned } = session
    const keys = listed.map(({ key }) => key)
    const indexed = await findIndexed(db, owned.id, this.followed, keys)
    const doubtful = listed.flatMap(message => {
      const here = indexed.get(message.key)
      return here && (this.suspectedAt !== null || seemsOther(message, here))
        ? [[message.key, here] as const]
        : []
    })
    const others = await findOthers(session, this.followed, new Map(doubtful))
    for (const { key, receivedAt, flags, mailboxKeys } of listed) {
      const there = placedAs(session, flags, mailboxKeys)
      const here = indexed.get(key) ?? null
      const isOther = others.has(key)
      if (isEqual(there, here) && !isOther) tally(this.counts, there, here)
      else if (this.#hasRoom(this.candidates))
        this.candidates.set(key, { wasListed: true, receivedAt, isOther })
      else if (isOther) tallyOther(this.beyond, there, here)
      else tally(this.beyond, there, here)
    }
  }

  async #readIndexed({ db }: Session, { uidMax, messageId }: Beginning): Promise<boolean> {
    const mailboxIds = this.followed.mailboxes.map(({ id }) => id)
    const page = await listIndexedKeys(db, mailboxIds, this.#indexAfter, KEYS_PER_PAGE)
    for (const { key, id, mailboxId } of page.rows) {
      const isNew = typeof key === 'number' ? key > uidMax : isLater(id, messageId)
      if (key !== null && (isNew || this.#seen.has(key) || this.candidates.has(key))) continue
      const here: Placed = { flags: null, mailboxIds: [mailboxId] }
      if (!this.#hasRoom(key === null ? this.unplaced : this.candidates)) tally(this.beyond, null, here)
      else if (key === null) this.unplaced.add(id)
      else this.candidates.set(key, { wasListed: false, receivedAt: null, isOther: false })
    }
    this.#indexAfter = page.next
    this.#isRead = page.next === null
    return !this.#isRead
  }

  #hasRoom({ size }: { size: number }): boolean {
    if (size < this.#candidatesMax) return true
    this.isCapped = true
    return false
  }
}

/** Whether an id that the service made is later than another; ids of version 7 ascend with time. */
function isLater(id: string, than: string): boolean {
  return id[VERSION_AT] === '7' && id > than
}

async function begin({ db, owned }: Session, { source, mailboxes }: FollowedSource): Promise<Beginning> {
  const cursor = await findCursor(db, owned.id, source)
  if (cursor === null) throw new Error('A source that is not followed cannot be compared')
  const suspectedAt = (await listSuspected(db, owned.id)).get(source) ?? null
  return { cursor, uidMax: await findUidMax(db, mailboxes[0]?.id ?? null), messageId: newId(), suspectedAt }
}

async function findUidMax(db: Db, mailboxId: string | null): Promise<number> {
  const { rows } = await sql<{ uid: string | null }>`
    select max(uid) as uid from message_mailbox where mailbox_id = ${mailboxId} and uid is not null
  `.execute(db)
  return Number(rows[0]?.uid ?? 0)
}

/** A message's state at the provider, in our terms. Mailboxes that are not ours are left out. */
export function placedAs(
  { mailboxes }: Pick<Session, 'mailboxes'>,
  flags: RemoteFlags | null,
  mailboxKeys: readonly string[],
): Placed {
  const ours = mailboxKeys.flatMap(key => mailboxes.get(key) ?? [])
  return {
    flags: flags && { ...flags, isDraft: isDraftIn(ours, flags.isDraft) },
    mailboxIds: ours.map(({ id }) => id),
  }
}
