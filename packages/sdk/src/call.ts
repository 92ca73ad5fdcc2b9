/** A body with what came beside it. */
export interface Answered<T> {
  body: T
  status: number
  requestId: string | undefined
  /** Names the content of a draft, for `ifMatch`. */
  etag: string | undefined
  /** Whether this is the answer of an earlier call with the same key. */
  isReplayed: boolean
  /** Requests per minute, those left and the seconds until the next minute, if the plan sets a rate. */
  rateLimit: { limit: number; remaining: number; resetSeconds: number } | undefined
  headers: Headers
  /** The body as the service wrote it, as `itemTexts` reads it; undefined for a file. */
  text: string | undefined
}

/** A call under way. Awaited, it is the body of the answer. */
export class Call<T> implements PromiseLike<T> {
  readonly #begin: () => Promise<Answered<T>>
  #answer: Promise<Answered<T>> | null = null

  constructor(begin: () => Promise<Answered<T>>) {
    this.#begin = begin
  }

  /** The body with status, headers and the like. */
  withResponse(): Promise<Answered<T>> {
    return (this.#answer ??= this.#begin())
  }

  // oxlint-disable-next-line unicorn/no-thenable -- a call is awaited like a promise, which `then` is for
  then<A = T, B = never>(
    onFulfilled?: ((body: T) => A | PromiseLike<A>) | null,
    onRejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.withResponse()
      .then(({ body }) => body)
      .then(onFulfilled, onRejected)
  }

  catch<B = never>(onRejected?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(null, onRejected)
  }

  finally(onFinally?: (() => void) | null): Promise<T> {
    return this.then(body => body).finally(onFinally)
  }
}

/** A page of a list. `nextCursor` is null on the last one. */
export interface Page<Item = unknown> {
  items: Item[]
  nextCursor: string | null
}

type ItemOf<P extends Page> = P['items'][number]

/**
 * A list. Awaited, it is a page; iterated, all items of this page and of those after it. The next page is read ahead;
 * breaking out gives it up.
 */
export class List<P extends Page> extends Call<P> implements AsyncIterable<ItemOf<P>> {
  readonly #readAfter: (cursor: string, signal: AbortSignal) => Promise<P>

  constructor(
    begin: () => Promise<Answered<P>>,
    readAfter: (cursor: string, signal: AbortSignal) => Promise<P>,
  ) {
    super(begin)
    this.#readAfter = readAfter
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ItemOf<P>, void, undefined> {
    const leaving = new AbortController()
    try {
      let page: P = await this
      for (;;) {
        // A filtered page may be empty although more follows.
        const cursor = page.nextCursor
        const next = cursor === null || cursor === undefined ? null : this.#readAfter(cursor, leaving.signal)
        next?.catch(() => {})
        yield* page.items as ItemOf<P>[]
        if (next === null || cursor === null) return
        page = await next.catch((error: unknown) => {
          // A WaxwingError, whose class this module cannot import: the types of errors name those of answers.
          if (error instanceof Error && 'outcome' in error) Object.assign(error, { cursor })
          throw error
        })
      }
    } finally {
      leaving.abort()
    }
  }
}

/** A file. Its stream fails with `incomplete` if the connection breaks before the end. */
export interface Download {
  stream: ReadableStream<Uint8Array>
  contentType: string | undefined
  /** Bytes; undefined if their number is not known before the end. */
  size: number | undefined
  /** All of it, in memory. */
  bytes(): Promise<Uint8Array>
}
