import { ProviderFailure } from '../failure.ts'
import type { ArrivedStep, FollowOptions, RemoteMessage } from '../mail.ts'
import { BATCH_PARTS_MAX } from './api.ts'
import { type Fetched, fetchMessages, idsOf, unitsOf, type Wanted, wantMessage } from './fetch.ts'
import type { GmailConnection, Handed } from './gmail-connection.ts'
import { type ListedIds, listIds } from './listing.ts'
import { UNITS } from './units.ts'

/** Ids are listed ahead, so that the wanted messages of a thread are seen together. */
const LISTED_AHEAD_MAX = 2_000
/** Pages that hold nothing new are passed in steps, so that the follower sees progress. */
const KNOWN_PAGES_PER_STEP = 10
const FETCHES_AT_ONCE = 3
/** Fetches under way or waiting to be recorded: Gmail is read on while a step is recorded. */
const FETCHES_AHEAD_MAX = 8
/** Sources are large, and all fetched ones are in memory. */
const FETCHES_WITH_SOURCES_AHEAD_MAX = 2
/** Fetches that have ended are recorded together while they have no more messages than this. */
const STEP_MESSAGES_MAX = 400
/** Threads are not taken apart, so the last one may exceed it. */
const FETCHED_MESSAGES_MAX = 200
const FETCHED_SOURCES_MAX = 10
/** From this many on, all messages of a thread together cost less than each of them. */
const THREAD_MIN = Math.floor(UNITS.threadsGet / UNITS.messagesGet) + 1
/** Maximum number of times a listing may begin again because Gmail no longer accepts its page token. */
const RESTARTS_MAX = 3

/** Without a thread it is fetched alone. */
type WantedRef = { id: string; threadId: string | null }

interface Fetch {
  turn: number
  wanted: Wanted[]
  /** Null while it is under way. */
  outcome: Fetched | Error | null
  ended: Promise<Fetched | Error>
}

type Answers = Pick<FollowOptions, 'lacking' | 'skip'>

/**
 * Reads the messages of a window that the index lacks, newest first. It lives as long as the connection, so that a
 * follower who stops after a step goes on where it was. After a restart everything is listed again, which costs little,
 * and only messages that the index lacks are fetched.
 */
export class Backfill {
  readonly since: number | null
  readonly before: number | null
  readonly #connection: GmailConnection
  #wanted: WantedRef[] = []
  readonly #fetches: Fetch[] = []
  /** Counts fetches and touches, to order them. */
  #turn = 0
  handed: Handed | null = null
  /** The turn of the last change of each message: an earlier fetch of it is repeated. */
  readonly #touched = new Map<string, number>()
  #token: string | undefined
  /** The page of `#token`, which is listed ahead. Null if that was not begun, or failed. */
  #page: Promise<ListedIds | null> | null = null
  #isListed = false
  #listed = 0
  #estimate = 0
  #restarts = 0

  /** @param window in milliseconds since 1970; null is unbounded */
  constructor(connection: GmailConnection, window: { since: number | null; before: number | null }) {
    this.#connection = connection
    this.since = window.since
    this.before = window.before
  }

  /** The next messages; null if there are no more. Throws `throttled` if there is no room in the quota. */
  async next(answers: Answers): Promise<Omit<ArrivedStep, 'origin'> | null> {
    const step = { type: 'arrived' as const, messages: [], unreadable: [] }
    if (!(await this.#fill(answers))) return { ...step, ...this.#remaining() }
    this.#start()
    const [first] = this.#fetches
    if (!first) return null
    const outcome = await first.ended
    if (outcome instanceof Error) {
      await this.#settle()
      throw outcome
    }
    const taken = this.#takeEnded()
    this.#readOn()
    const throttled = taken.find(fetched => fetched.throttled)?.throttled
    const messages = taken.flatMap(fetched => fetched.messages)
    const unreadable = taken.flatMap(fetched => fetched.unreadable)
    if (messages.length === 0 && unreadable.length === 0 && throttled) throw throttled
    return { ...step, messages, unreadable, ...this.#remaining() }
  }

  /** Messages that were handed over and not recorded. */
  takeBack(ids: readonly string[]): void {
    this.#giveBack(ids.map(wantMessage))
  }

  touch(id: string): void {
    this.#touched.set(id, ++this.#turn)
  }

  /** The results of the first fetches, as far as they have ended and may be recorded together. */
  #takeEnded(): Fetched[] {
    const taken: Fetched[] = []
    for (let messages = 0; ;) {
      const [fetch] = this.#fetches
      if (!fetch?.outcome || fetch.outcome instanceof Error) break
      messages += fetch.outcome.messages.length
      const isFull = messages > STEP_MESSAGES_MAX || this.#connection.takesSources
      if (taken.length > 0 && isFull) break
      this.#fetches.shift()
      taken.push(this.#withoutTouched(fetch.outcome, fetch.turn))
    }
    if (this.#fetches.length === 0) this.#touched.clear()
    return taken
  }

  #withoutTouched(fetched: Fetched, turn: number): Fetched {
    const isStale = ({ key }: RemoteMessage) => (this.#touched.get(String(key)) ?? 0) > turn
    const stale = fetched.messages.filter(isStale)
    this.#giveBack([...fetched.left, ...stale.map(({ key }) => wantMessage(String(key)))])
    return stale.length === 0
      ? fetched
      : { ...fetched, messages: fetched.messages.filter(message => !isStale(message)) }
  }

  /** Gives back messages that were not fetched because of a failure, once nothing is under way. */
  async #settle(): Promise<void> {
    await Promise.all(this.#fetches.map(({ ended }) => ended))
    const failed = this.#fetches.filter(({ outcome }) => outcome instanceof Error)
    for (const fetch of failed.toReversed()) {
      this.#fetches.splice(this.#fetches.indexOf(fetch), 1)
      const isUnanswered = fetch.outcome instanceof ProviderFailure && fetch.outcome.kind === 'throttled'
      this.#giveBack(fetch.wanted, isUnanswered)
    }
  }

  #remaining(): Pick<ArrivedStep, 'remaining' | 'remainingSeconds'> {
    const unlisted = this.#isListed ? 0 : Math.max(0, this.#estimate - this.#listed)
    const remaining = this.#wanted.length + this.#idsBeingFetched().length + unlisted
    return { remaining, remainingSeconds: this.#connection.api.secondsFor(remaining * UNITS.messagesGet) }
  }

  /**
   * Puts messages back to be fetched next, each alone, since the rest of a thread may be elsewhere by now; but as whole
   * threads if no request was made.
   */
  #giveBack(wanted: readonly Wanted[], isUnanswered = false): void {
    const refs = wanted.flatMap(one => {
      const threadId = isUnanswered && one.type === 'thread' ? one.id : null
      return idsOf(one).map(id => ({ id, threadId }))
    })
    this.#wanted.unshift(...refs)
  }

  /** Lists ahead. @returns false if a step should be made first although nothing was fetched */
  async #fill({ lacking, skip }: Answers): Promise<boolean> {
    for (let pages = 0; !this.#isListed && this.#wanted.length < LISTED_AHEAD_MAX; pages += 1) {
      if (pages >= KNOWN_PAGES_PER_STEP && this.#wanted.length === 0 && this.#fetches.length === 0)
        return false
      const page = (await this.#page) ?? (await this.#list(this.#token).catch(error => this.#restart(error)))
      if (!page) continue
      const next = page.next === undefined ? null : this.#list(page.next).catch(() => null)
      const asked = new Set([...this.#wanted.map(({ id }) => id), ...this.#idsBeingFetched()])
      const fresh = page.messages.filter(({ id }) => !skip.has(id) && !asked.has(id))
      const isLacking = new Set(fresh.length === 0 ? [] : await lacking(fresh.map(({ id }) => id)))
      this.#wanted.push(...fresh.filter(({ id }) => isLacking.has(id)))
      this.#listed += page.messages.length
      this.#estimate = Math.max(this.#estimate, page.estimate)
      this.#token = page.next
      this.#page = next
      this.#isListed = page.next === undefined
    }
    return true
  }

  #list(token: string | undefined): Promise<ListedIds> {
    const { api, signal } = this.#connection
    const query = { after: this.since, before: this.before }
    return listIds(api, query, token, { signal, urgency: 'background' })
  }

  #idsBeingFetched(): string[] {
    return this.#fetches.flatMap(({ wanted }) => wanted.flatMap(idsOf))
  }

  /** Begins the listing again after a page token that Gmail no longer accepts. */
  #restart(error: unknown): null {
    const isStale = error instanceof ProviderFailure && error.kind === 'rejected' && this.#token !== undefined
    if (!isStale || ++this.#restarts > RESTARTS_MAX) throw error
    this.#token = undefined
    this.#page = null
    this.#listed = 0
    return null
  }

  /** Keeps some fetches going. After a failure none is begun until it is thrown. */
  #start(): void {
    const aheadMax = this.#connection.takesSources ? FETCHES_WITH_SOURCES_AHEAD_MAX : FETCHES_AHEAD_MAX
    const hasFailed = this.#fetches.some(({ outcome }) => outcome instanceof Error || outcome?.throttled)
    if (hasFailed) return
    while (this.#wanted.length > 0 && this.#fetches.length < aheadMax) {
      if (this.#fetches.filter(({ outcome }) => outcome === null).length === FETCHES_AT_ONCE) return
      const wanted = this.#take()
      const ended = fetchMessages(this.#connection, wanted, {
        signal: this.#connection.signal,
        urgency: 'background',
        withSources: true,
      }).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))))
      const fetch: Fetch = { turn: ++this.#turn, wanted, outcome: null, ended }
      fetch.ended = ended.then(outcome => {
        fetch.outcome = outcome
        this.#readOn()
        return outcome
      })
      this.#fetches.push(fetch)
    }
  }

  /** Fetches more while a step is recorded, unless that step has sources, which are large. */
  #readOn(): void {
    if (!this.#connection.takesSources) this.#start()
  }

  /** The newest messages, with the rest of their threads where these are cheaper together. */
  #take(): Wanted[] {
    const byThread = this.#connection.takesSources
      ? new Map<string | null, WantedRef[]>()
      : Map.groupBy(this.#wanted, ({ threadId }) => threadId)
    const partsMax = this.#connection.takesSources ? FETCHED_SOURCES_MAX : BATCH_PARTS_MAX
    const wanted: Wanted[] = []
    let units = 0
    const taken = new Set<string>()
    for (const { id, threadId } of this.#wanted) {
      if (wanted.length === partsMax || taken.size >= FETCHED_MESSAGES_MAX) break
      if (taken.has(id)) continue
      const thread = byThread.get(threadId) ?? []
      const one: Wanted =
        threadId !== null && thread.length >= THREAD_MIN
          ? { type: 'thread', id: threadId, ids: thread.map(message => message.id) }
          : wantMessage(id)
      units += unitsOf(one)
      if (wanted.length > 0 && units > this.#connection.api.batchUnitsMax) break
      for (const each of idsOf(one)) taken.add(each)
      wanted.push(one)
    }
    this.#wanted = this.#wanted.filter(({ id }) => !taken.has(id))
    return wanted
  }
}
