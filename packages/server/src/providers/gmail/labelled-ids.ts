import { ProviderFailure } from '../failure.ts'
import { type AskOptions, BATCH_PARTS_MAX } from './api.ts'
import { hasLabel, requestOfLabel } from './ask-label.ts'
import type { GmailConnection } from './gmail-connection.ts'
import { CHAT, isIndexed } from './labels.ts'
import { type IdQuery, type ListedIds, listIds } from './listing.ts'
import { type Label, labelsSchema } from './resources.ts'
import { UNITS } from './units.ts'

/** A mailbox that names more messages is not listed. They take about 100 bytes each. */
const MESSAGES_MAX = 5_000_000
/** Pages of the messages of one label. */
const PAGES_MAX = 20_000
/** Requests that `fill` makes at most, so that the follower sees progress. */
const ASKS_PER_FILL = 10
/** Maximum number of times the listing of a label may begin again because Gmail no longer accepts its page token. */
const RESTARTS_MAX = 3

/** The messages of one label, or all messages. */
type Listing = Pick<IdQuery, 'labelId'>

/**
 * The ids of all messages of a window with their labels. They are listed label by label, which costs far less than a
 * request for each message. The history has the changes of the meantime.
 *
 * A large mailbox takes longer than a minute's quota. So the listed part is kept after a failure, and `fill` goes on
 * from there. It repeats a failed request once: one failure among thousands of calls must not end the connection.
 */
export class LabelledIds {
  readonly since: number | null
  /** Messages that something happened to since they were listed: their labels are not to be relied on. */
  readonly touched = new Set<string>()
  readonly #connection: GmailConnection
  /** Labels that may have messages; null until they are known. */
  #uncounted: Label[] | null = null
  /** The listings still to be made. All messages come first, since only they get labels. */
  readonly #unlisted: Listing[] = [{}]
  /** The next page of the first of these. */
  #token: string | undefined
  #pages = 0
  #restarts = 0
  /** Whether the last call failed. */
  #hasFailed = false
  /** The index of a set of labels by the id of the message. Few sets are different. */
  readonly #setOf = new Map<string, number>()
  readonly #sets: Array<readonly string[]> = [[]]
  readonly #withLabel = new Map<string, number>()
  #sorted: readonly string[] | null = null

  /** @param since in milliseconds since 1970; null is unbounded */
  constructor(connection: GmailConnection, since: number | null) {
    this.#connection = connection
    this.since = since
  }

  /** Lists some more. @returns whether everything is listed */
  async fill(): Promise<boolean> {
    for (let asks = 0; asks < ASKS_PER_FILL && !this.#isComplete; asks += 1) {
      try {
        await this.#ask()
        this.#hasFailed = false
      } catch (error) {
        const isFirst = error instanceof ProviderFailure && error.kind === 'unavailable' && !this.#hasFailed
        if (!isFirst) throw error
        this.#hasFailed = true
      }
    }
    return this.#isComplete
  }

  /** Number of messages that are known so far. */
  get size(): number {
    return this.#setOf.size
  }

  /** All ids, ascending: the newest are last. Call it when everything is listed. */
  ids(): readonly string[] {
    return (this.#sorted ??= [...this.#setOf.keys()]
      .filter(id => !this.labelsOf(id).includes(CHAT))
      .toSorted())
  }

  labelsOf(id: string): readonly string[] {
    return this.#sets[this.#setOf.get(id) ?? 0]!
  }

  get #isComplete(): boolean {
    return this.#uncounted?.length === 0 && this.#unlisted.length === 0
  }

  get #options(): AskOptions {
    return { signal: this.#connection.signal, urgency: 'background' }
  }

  async #ask(): Promise<void> {
    if (this.#uncounted === null) this.#uncounted = await this.#askLabels()
    else if (this.#uncounted.length > 0) await this.#count(this.#uncounted.slice(0, BATCH_PARTS_MAX))
    else if (this.#unlisted[0]) await this.#list(this.#unlisted[0])
  }

  async #askLabels(): Promise<Label[]> {
    const request = { path: 'labels', units: UNITS.labelsList, schema: labelsSchema }
    const { labels } = await this.#connection.api.ask(request, this.#options)
    return labels.filter(isIndexed)
  }

  /** Leaves out labels without messages. */
  async #count(labels: readonly Label[]): Promise<void> {
    const outcomes = await this.#connection.api.askAll(labels.map(requestOfLabel), this.#options)
    for (const { failure } of outcomes) if (failure && failure.kind !== 'not_found') throw failure
    // A count may lag behind; only one that is there and zero is believed.
    const used = labels.filter((_, index) => {
      const value = outcomes[index]?.value
      return value && value.messagesTotal !== 0
    })
    this.#unlisted.push(...used.map(({ id }) => ({ labelId: id })))
    this.#uncounted?.splice(0, labels.length)
  }

  async #list(listing: Listing): Promise<void> {
    const page = await this.#askPage(listing)
    if (page === 'stale_page') {
      this.#token = undefined
      return
    }
    for (const { id } of page.messages) this.#add(id, listing)
    if (this.#setOf.size > MESSAGES_MAX || ++this.#pages > PAGES_MAX)
      throw new ProviderFailure('unavailable', 'Gmail lists more messages than a mailbox can have.')
    this.#token = page.next
    if (page.next !== undefined) return
    this.#unlisted.shift()
    this.#pages = 0
    this.#restarts = 0
  }

  async #askPage(listing: Listing): Promise<ListedIds | 'stale_page'> {
    const { api } = this.#connection
    const query = { ...listing, after: this.since }
    try {
      return await listIds(api, query, this.#token, this.#options)
    } catch (error) {
      if (!(error instanceof ProviderFailure) || error.kind !== 'rejected') throw error
      if (this.#token !== undefined && ++this.#restarts <= RESTARTS_MAX) return 'stale_page'
      const { labelId } = listing
      if (labelId === undefined || (await hasLabel(api, labelId, this.#options))) throw error
      return { messages: [], next: undefined, estimate: 0 }
    }
  }

  #add(id: string, { labelId }: Listing): void {
    const before = this.#setOf.get(id)
    if (labelId === undefined) {
      if (before === undefined) this.#setOf.set(id, 0)
      return
    }
    // A message that came after the listing of all messages is in the history. A page may name one again.
    if (before === undefined || this.#sets[before]!.includes(labelId)) return
    const key = `${before} ${labelId}`
    let after = this.#withLabel.get(key)
    if (after === undefined) {
      after = this.#sets.push([...this.#sets[before]!, labelId]) - 1
      this.#withLabel.set(key, after)
    }
    this.#setOf.set(id, after)
  }
}
