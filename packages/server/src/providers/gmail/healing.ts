import type { ArrivedStep, FollowOptions, MessageState, StatesStep } from '../mail.ts'
import { BATCH_PARTS_MAX } from './api.ts'
import { fetchMessages, idsOf, wantMessage } from './fetch.ts'
import type { GmailConnection, Handed } from './gmail-connection.ts'
import { askHistory } from './history.ts'
import { foldRecords } from './history-page.ts'
import { LabelledIds } from './labelled-ids.ts'
import { flagsOf, mailboxKeysOf } from './labels.ts'

const CHUNK = 500
const TOUCHED_PAGES_MAX = 1_000

/** Brings the index in line with the listed labels, and fetches the messages that it lacks. */
export class Healing {
  readonly since: number | null
  readonly #connection: GmailConnection
  readonly #listed: LabelledIds
  /** The ids that are still to be looked at, the newest last; null until all are listed. */
  #left: string[] | null = null
  /** The ids to fetch, as far as they were looked at. */
  #lacking: string[] = []
  handed: Handed | null = null

  /** @param since in milliseconds since 1970; null is unbounded */
  constructor(connection: GmailConnection, since: number | null) {
    this.since = since
    this.#connection = connection
    this.#listed = new LabelledIds(connection, since)
  }

  get touched(): Set<string> {
    return this.#listed.touched
  }

  /**
   * Lists some more labels.
   * @param historyId from which on the history was not read yet
   * @returns how many messages are known so far; null once everything is listed
   */
  async list(historyId: string): Promise<number | null> {
    if (this.#left) return null
    if (!(await this.#listed.fill())) return this.#listed.size
    await touchSince(this.#connection, historyId)
    this.#left = [...this.#listed.ids()]
    return null
  }

  /** Messages of changes that were handed over and not recorded. */
  takeBack(ids: readonly string[]): void {
    this.#left?.push(...ids.toReversed())
  }

  /** The next changes; null at the end. Call it when everything is listed. */
  async next({
    lacking,
    skip,
  }: Pick<FollowOptions, 'lacking' | 'skip'>): Promise<Array<StatesStep | ArrivedStep> | null> {
    if (this.#lacking.length > 0) return [await this.#fetch()]
    const left = this.#left ?? []
    if (left.length === 0) return null
    const chunk = left.slice(-CHUNK).toReversed()
    const isLacking = new Set(await lacking(chunk))
    left.length -= chunk.length
    this.#lacking = chunk.filter(id => isLacking.has(id) && !skip.has(id))
    const { ignoredLabels } = this.#connection
    const changes = chunk
      .filter(id => !isLacking.has(id) && !this.touched.has(id))
      .map((id): MessageState => {
        const labels = this.#listed.labelsOf(id)
        return { key: id, flags: flagsOf(labels), mailboxKeys: mailboxKeysOf(labels, ignoredLabels) }
      })
    return [{ type: 'states', changes }]
  }

  async #fetch(): Promise<ArrivedStep> {
    const ids = this.#lacking.slice(0, BATCH_PARTS_MAX)
    const { signal } = this.#connection
    const fetched = await fetchMessages(this.#connection, ids.map(wantMessage), {
      signal,
      urgency: 'background',
    })
    const left = fetched.left.flatMap(idsOf)
    if (fetched.throttled && left.length === ids.length) throw fetched.throttled
    this.#lacking = [...left, ...this.#lacking.slice(ids.length)]
    const { messages, unreadable } = fetched
    const remaining = this.#lacking.length + (this.#left?.length ?? 0)
    return { type: 'arrived', origin: 'missing', messages, unreadable, remaining }
  }
}

/**
 * Marks the messages that changed while the labels were listed one after the other, since their labels are a mixture of
 * old and new.
 */
async function touchSince(connection: GmailConnection, historyId: string): Promise<void> {
  let pageToken: string | undefined
  for (let pages = 0; pages < TOUCHED_PAGES_MAX; pages += 1) {
    const page = await askHistory(connection, historyId, pageToken)
    // Everything is then listed once more.
    if (page === 'expired') return
    if (page === 'stale_page') {
      pageToken = undefined
      continue
    }
    connection.noteTouched(foldRecords(page.history).keys())
    pageToken = page.nextPageToken
    if (pageToken === undefined) return
  }
}
