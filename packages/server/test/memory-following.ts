import type { Cursor } from '../src/providers/mail.ts'

/* Following collections (address books, calendars) of a provider in memory. */

export const MEMBERS_PER_STEP = 3

/** A member of a collection, named by its key. */
export interface Held {
  key: string
  version: string
}

/** The cursor: the last entry of the log that was read; with `after`, a whole collection is read up to this key. */
interface LogCursor {
  epoch: number
  at: number
  after?: string
  [name: string]: unknown
}

/** The changes of all collections of an account, numbered. */
export class ChangeLog {
  #entries: Array<{ n: number; collection: string; key: string }> = []
  /** The first entry about each key. */
  readonly #born = new Map<string, number>()
  #last = 0
  #epoch = 1

  /** A number that was never given before. */
  next(): number {
    return ++this.#last
  }

  /** Notes that a member changed, and returns the number of the change. */
  note(collection: string, key: string): number {
    this.#entries.push({ n: this.next(), collection, key })
    if (!this.#born.has(key)) this.#born.set(key, this.#last)
    return this.#last
  }

  /** Makes every cursor invalid. */
  loseCursors(): void {
    this.#epoch++
    this.#entries = []
  }

  hasNews(collection: string, cursor: Cursor | null): boolean {
    const from = this.#current(cursor)
    if (!from || from.after !== undefined) return true
    return this.#entries.some(entry => entry.collection === collection && entry.n > from.at)
  }

  /** The changes since a cursor, else a comparison of the whole collection. */
  async *follow<T extends Held, Page>(
    collection: MemoryCollection<T, Page>,
    cursor: Cursor | null,
    known: () => Promise<ReadonlyMap<string, string>>,
  ): AsyncGenerator<MemoryStep<Page>, void, void> {
    const from = this.#current(cursor)
    if (from && from.after === undefined) yield* this.#changes(collection, from)
    else yield* this.#whole(collection, from, known)
  }

  async *#changes<T extends Held, Page>(
    { name, wait, find, present, omitsBrief }: MemoryCollection<T, Page>,
    from: LogCursor,
  ): AsyncGenerator<MemoryStep<Page>, void, void> {
    const end = { epoch: this.#epoch, at: this.#last }
    const news = this.#entries.filter(entry => entry.collection === name && entry.n > from.at)
    const keys = [...new Set(news.map(({ key }) => key))]
    const isTold = (key: string) => !omitsBrief || (this.#born.get(key) ?? 0) <= from.at
    for (let at = 0; at < keys.length; at += MEMBERS_PER_STEP) {
      const some = keys.slice(at, at + MEMBERS_PER_STEP)
      const there = some.flatMap(key => find(key) ?? [])
      const gone = some.filter(key => !find(key) && isTold(key))
      const page = present(there)
      await wait('page')
      if (gone.length > 0) yield { type: 'gone', keys: gone }
      await wait('page')
      if (there.length > 0) yield { type: 'page', page, remaining: null }
    }
    await wait('page')
    yield { type: 'end', cursor: end }
  }

  async *#whole<T extends Held, Page>(
    { wait, list, find, present }: MemoryCollection<T, Page>,
    from: LogCursor | null,
    known: () => Promise<ReadonlyMap<string, string>>,
  ): AsyncGenerator<MemoryStep<Page>, void, void> {
    const at = from?.at ?? this.#last
    const epoch = this.#epoch
    const { wanted, all } = list()
    await wait('listing')
    const held = await known()
    const isNews = ({ key, version }: T) => key > (from?.after ?? '') && held.get(key) !== version
    const fresh = wanted.filter(isNews).toSorted((a, b) => (a.key < b.key ? -1 : 1))
    for (let nth = 0; nth < fresh.length; nth += MEMBERS_PER_STEP) {
      const some = fresh.slice(nth, nth + MEMBERS_PER_STEP)
      const page = present(some.flatMap(({ key }) => find(key) ?? []))
      await wait('page')
      const after = some.at(-1)!.key
      yield { type: 'page', page, remaining: fresh.length - nth, cursor: { epoch, at, after } }
    }
    const listed = new Set(all.map(({ key }) => key))
    const gone = [...held.keys()].filter(key => !listed.has(key))
    await wait('page')
    if (gone.length > 0) yield { type: 'gone', keys: gone }
    yield { type: 'end', cursor: { epoch, at } }
  }

  #current(cursor: Cursor | null): LogCursor | null {
    // Its cursors are the only ones that it is given.
    const from = cursor as LogCursor | null
    return from?.epoch === this.#epoch ? from : null
  }
}

export interface MemoryCollection<T extends Held, Page> {
  name: string
  /** Called wherever the provider awaits. */
  wait(call: string): Promise<void>
  /** Its members, and those of them that a comparison brings. */
  list(): { wanted: readonly T[]; all: readonly Held[] }
  find(key: string): T | null
  present(members: readonly T[]): Page
  /** As some DAV servers, which leave out what came and went between two of their states. */
  omitsBrief: boolean
}

export type MemoryStep<Page> =
  | { type: 'page'; page: Page; remaining: number | null; cursor?: Cursor }
  | { type: 'gone'; keys: readonly string[] }
  | { type: 'end'; cursor: Cursor }
