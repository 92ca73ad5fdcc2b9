import { Worker } from 'node:worker_threads'
import type { ContentFacts } from './content-facts.ts'
import type { ParsedMessage } from './message-parser.ts'
import type { MessageOutline } from './outline.ts'

/** Maximum processing time of one message in the thread. */
const WORK_MS_MAX = 10_000
const HEAP_MB_MAX = 256
const READS_AT_ONCE = 8

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
   * @throws ReaderLost if the thread ended because of another message; the message may be read again
   */
  read(content: AsyncIterable<Uint8Array>): Promise<ReadMessage | null>
  /** Like `read`, but returns only the words of the body. */
  readWords(content: AsyncIterable<Uint8Array>): Promise<ReadBody | null>
  /** Like `read`, but returns the outline of a message, or of its beginning. */
  readOutline(bytes: Uint8Array): Promise<MessageOutline | null>
}

/** Thrown if the thread ended because of another message. */
export class ReaderLost extends Error {
  override name = 'ReaderLost'
}

class TooHard extends Error {
  override name = 'TooHard'
}

interface Thread {
  worker: Worker
  /** Unanswered requests, in order: the thread works on the first. */
  asked: Asked[]
}

interface Asked {
  id: number
  settle: PromiseWithResolvers<ReaderAnswer['result']>
  /** Called when the thread starts on it. The time before that was used by other messages. */
  begin(of: Thread): void
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
    script = new URL('read-worker.ts', import.meta.url),
  } = options
  const waiting: Array<() => void> = []
  let thread: Thread | null = null
  let running = 0
  let lastId = 0
  let isClosed = false

  const enter = async () => {
    if (running >= readsAtOnce) await new Promise<void>(resolve => waiting.push(resolve))
    else running++
  }
  const leave = () => {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
  const ask = (id: number, type: ReaderRequest['type'], bytes: Uint8Array, begin: Asked['begin']) => {
    if (isClosed) throw new ReaderLost('The reader of messages is closed')
    thread ??= startThread(script, () => (thread = null))
    const settle = Promise.withResolvers<ReaderAnswer['result']>()
    thread.asked.push({ id, settle, begin })
    if (thread.asked.length === 1) begin(thread)
    thread.worker.ref()
    thread.worker.postMessage({ id, type, bytes } satisfies ReaderRequest, [])
    return { answer: settle.promise, of: thread }
  }

  async function readAll(
    content: AsyncIterable<Uint8Array>,
    wanted: 'message' | 'words' | 'outline',
  ): Promise<ReaderAnswer['result']> {
    const id = ++lastId
    let left = workMsMax
    let first: Thread | null = null
    const work = async (type: ReaderRequest['type'], bytes: Uint8Array) => {
      if (first !== null && thread !== first) throw new ReaderLost('The thread was started again')
      let begunAt = Number.POSITIVE_INFINITY
      let timer: NodeJS.Timeout | undefined
      const { answer, of } = ask(id, type, bytes, ({ worker }) => {
        begunAt = performance.now()
        timer = setTimeout(() => void worker.terminate(), left)
      })
      first = of
      try {
        return await answer
      } finally {
        clearTimeout(timer)
        left = Math.max(1, left - Math.max(0, performance.now() - begunAt))
      }
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
      if (!(error instanceof TooHard)) throw error
      isDone = true
      return null
    } finally {
      if (!isDone && thread !== null && thread === first)
        void ask(id, 'drop', NOTHING, () => undefined).answer.catch(() => undefined)
    }
  }

  async function readInTurn(...[content, wanted]: Parameters<typeof readAll>) {
    await enter()
    try {
      return await readAll(content, wanted)
    } finally {
      leave()
    }
  }

  return {
    async read(content) {
      const result = await readInTurn(content, 'message')
      return result !== null && 'attachments' in result ? result : null
    },
    async readWords(content) {
      const result = await readInTurn(content, 'words')
      return result !== null && 'words' in result ? result : null
    },
    async readOutline(bytes) {
      const result = await readInTurn(onePiece(bytes), 'outline')
      return result !== null && 'reports' in result ? result : null
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await thread?.worker.terminate()
    },
  }
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function startThread(script: URL, onEnd: () => void): Thread {
  const worker = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX } })
  const thread: Thread = { worker, asked: [] }
  worker.on('message', ({ result }: ReaderAnswer) => {
    thread.asked.shift()?.settle.resolve(result)
    thread.asked[0]?.begin(thread)
    // An idle thread must not keep the process alive.
    if (thread.asked.length === 0) worker.unref()
  })
  worker.on('error', () => undefined)
  worker.on('exit', () => {
    onEnd()
    const [culprit] = thread.asked
    for (const { id, settle } of thread.asked.splice(0)) {
      settle.reject(
        id === culprit?.id ? new TooHard() : new ReaderLost('The thread ended over another message'),
      )
    }
  })
  return thread
}
