import { MODULE_SUFFIX } from '../module-suffix.ts'
import { openFairSemaphore } from '../fair-semaphore.ts'
import { ThreadLost, TooMuchWork, WorkThread } from '../work-thread.ts'
import type { ContentFacts } from './content-facts.ts'
import type { ParsedMessage } from './message-parser.ts'
import type { MessageOutline } from './outline.ts'

/** Maximum processing time of one message in the thread. */
const WORK_MS_MAX = 10_000
const HEAP_MB_MAX = 256
const READS_AT_ONCE = 8
/** The part of the reads that is kept for parties that read little: a slow server may send a message for minutes. */
const KEPT_SHARE = 0.25

const NOTHING = new Uint8Array(0)

export interface ReaderRequest {
  id: number
  /** `message` and `words` come with the last piece and select the result. `outline` comes with everything. */
  type: 'more' | 'message' | 'words' | 'outline' | 'drop'
  bytes: Uint8Array
}

export interface ReaderAnswer {
  id: number
  /** Null until it is ended. */
  result: ReadMessage | ReadBody | MessageOutline | null
}

export interface ReadMessage extends ParsedMessage {
  facts: ContentFacts
}

export interface ReadBody {
  /** The words as written by `bodyVector`. */
  words: Uint8Array
  facts: ContentFacts
}

/** Parses messages in a separate thread, so that no message blocks the event loop or ends the process. */
export interface MessageReader extends AsyncDisposable {
  /**
   * Returns null if the message took too much time or memory. Throws what the content throws.
   * @param party whose message it is; parties take turns
   * @throws ReaderLost if the thread ended because of another message; the message may be read again
   */
  read(party: string, content: AsyncIterable<Uint8Array>): Promise<ReadMessage | null>
  /** Like `read`, but returns only the words of the body. */
  readWords(party: string, content: AsyncIterable<Uint8Array>): Promise<ReadBody | null>
  /** Like `read`, but returns the outline of a message, or of its beginning. */
  readOutline(party: string, bytes: Uint8Array): Promise<MessageOutline | null>
}

/** Thrown if the thread ended because of another message. */
export class ReaderLost extends Error {
  override name = 'ReaderLost'
}

export interface ReaderOptions {
  workMsMax?: number
  /** Maximum number of messages in the thread at once; more wait. */
  readsAtOnce?: number
  /** The script of the thread. Tests use another. */
  script?: URL
}

export function openMessageReader(options: ReaderOptions = {}): MessageReader {
  const {
    workMsMax = WORK_MS_MAX,
    readsAtOnce = READS_AT_ONCE,
    script = new URL(`read-worker${MODULE_SUFFIX}`, import.meta.url),
  } = options
  const permits = openFairSemaphore({ atOnce: readsAtOnce, kept: Math.floor(readsAtOnce * KEPT_SHARE) })
  let thread: WorkThread<ReaderRequest, ReaderAnswer> | null = null
  let lastId = 0
  let isClosed = false

  const openThread = () => {
    if (isClosed) throw new ReaderLost('The reader of messages is closed')
    if (thread === null || thread.hasEnded) thread = new WorkThread({ script, heapMbMax: HEAP_MB_MAX })
    return thread
  }

  async function readAll(
    content: AsyncIterable<Uint8Array>,
    wanted: 'message' | 'words' | 'outline',
  ): Promise<ReaderAnswer['result']> {
    const id = ++lastId
    const budget = { msLeft: workMsMax }
    let first = null as typeof thread
    const work = async (type: ReaderRequest['type'], bytes: Uint8Array) => {
      // The thread has the pieces that came before.
      first ??= openThread()
      // A small buffer is part of a pool of 64 KB, and would be sent with all of it.
      const own = new Uint8Array(bytes)
      return (await first.ask({ id, type, bytes: own }, budget, [own.buffer])).result
    }
    let isDone = false
    try {
      let last: Uint8Array = NOTHING
      for await (const bytes of content) {
        if (last.length > 0) await work('more', last)
        last = bytes
      }
      const result = await work(wanted, last)
      isDone = true
      return result
    } catch (error) {
      if (error instanceof ThreadLost) throw new ReaderLost(error.message)
      if (!(error instanceof TooMuchWork)) throw error
      return null
    } finally {
      if (!isDone && first && !first.hasEnded) void work('drop', NOTHING).catch(() => undefined)
    }
  }

  async function readInTurn(party: string, ...[content, wanted]: Parameters<typeof readAll>) {
    // Any number may wait.
    return permits.take(party, () => readAll(content, wanted))
  }

  return {
    async read(party, content) {
      const result = await readInTurn(party, content, 'message')
      return result !== null && 'attachments' in result ? result : null
    },
    async readWords(party, content) {
      const result = await readInTurn(party, content, 'words')
      return result !== null && 'words' in result ? result : null
    },
    async readOutline(party, bytes) {
      const result = await readInTurn(party, onePiece(bytes), 'outline')
      return result !== null && 'reports' in result ? result : null
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await thread?.[Symbol.asyncDispose]()
    },
  }
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
