import { openFairSemaphore } from '../fair-semaphore.ts'
import { MODULE_SUFFIX } from '../module-suffix.ts'
import { ThreadLost, TooMuchWork, type WorkBudget, WorkThread } from '../work-thread.ts'
import {
  type Rendered,
  type RenderFailure,
  TEMPLATE_FIELDS,
  type TemplateField,
  type TemplateFields,
} from './template.ts'

/*
 * Renders templates in threads, so that no template blocks the event loop or ends the process. A thread that hangs or
 * runs out of memory is replaced.
 */

const THREADS = 2
/** Kept for parties that render little, so that they wait for no large mail merge. */
const THREADS_KEPT = 1
const HEAP_MB_MAX = 128
const WAITING_MAX = 512
const WAITING_OF_ONE_MAX = 64
/** Loading a thread, on a busy machine. */
const START_MS_MAX = 30_000
/**
 * A render ends itself after a second, except while it compiles or converts Markdown. Then the thread is ended, after
 * this much processor time.
 */
const WORK_MS_MAX = 1500
/** A thread's time for all renders of one call; the others then fail. */
const MANY_MS_MAX = 60_000
/** Length of the variables that one message to a thread has, and their number. */
const CHUNK_LENGTH_MAX = 1024 * 1024
const CHUNK_COUNT_MAX = 100

const TOO_LONG = 'takes too long or too much memory'

export type RendererRequest =
  | { type: 'start' }
  | { type: 'check'; fields: TemplateFields }
  | { type: 'render'; fields: TemplateFields; variables: readonly string[] }

/** The results of the first variables of a render, at least one. */
export type RendererAnswer = Array<Rendered | RenderFailure | null>

/** Thrown if too many renders wait, of one party or of all. */
export class RendererBusy extends Error {
  override name = 'RendererBusy'
}

export interface Renderer extends AsyncDisposable {
  /**
   * Returns the first field that does not compile; null if all do.
   * @param party whose work it is; parties take turns
   */
  check(party: string, fields: TemplateFields): Promise<RenderFailure | null>
  /**
   * Renders a template once for each of the variables, which are JSON, and returns the results in their order.
   * @param budget the threads' time that this call has, and others that share it; waiting for a thread costs nothing
   * @throws RendererBusy
   */
  render(
    party: string,
    fields: TemplateFields,
    variables: readonly string[],
    budget?: WorkBudget,
  ): Promise<Array<Rendered | RenderFailure>>
}

interface Thread {
  work: WorkThread<RendererRequest, RendererAnswer>
  /** The variables and the field that the thread is rendering. */
  progress: Int32Array
}

export interface RendererOptions {
  /** The script of the threads. Tests use another. */
  script?: URL
  workMsMax?: number
}

export function openRenderer(options: RendererOptions = {}): Renderer {
  const { script = new URL(`render-worker${MODULE_SUFFIX}`, import.meta.url), workMsMax = WORK_MS_MAX } =
    options
  const threads = openThreads(script)

  return {
    async check(party, fields) {
      const answer = await threads.ask(party, { type: 'check', fields }, { msLeft: workMsMax })
      if (Array.isArray(answer)) return failureOf(answer[0])
      return { failure: 'invalid', field: answer.field, message: TOO_LONG }
    },

    async render(party, fields, variables, many = { msLeft: MANY_MS_MAX }) {
      const results: Array<Rendered | RenderFailure> = []
      let countMax = CHUNK_COUNT_MAX
      while (results.length < variables.length && many.msLeft > 0) {
        const chunk = takeChunk(variables, results.length, countMax)
        const budget = { msLeft: workMsMax }
        const answer = await threads.ask(party, { type: 'render', fields, variables: chunk }, budget)
        many.msLeft -= workMsMax - budget.msLeft
        countMax = CHUNK_COUNT_MAX
        if (Array.isArray(answer)) results.push(...answer.filter(result => result !== null))
        else if (answer.entry === 0) results.push(tooLong(answer.field))
        // Entries before it were rendered, but their results are lost.
        else countMax = answer.entry
      }
      return [...results, ...variables.slice(results.length).map(() => tooLong('html'))]
    },

    [Symbol.asyncDispose]: () => threads[Symbol.asyncDispose](),
  }
}

interface Threads extends AsyncDisposable {
  /** Asks a thread, and returns where it was if that ended it. */
  ask(party: string, request: RendererRequest, budget: WorkBudget): Promise<RendererAnswer | Stuck>
}

function openThreads(script: URL): Threads {
  const permits = openFairSemaphore({
    atOnce: THREADS,
    kept: THREADS_KEPT,
    waitingMax: WAITING_MAX,
    waitingOfOneMax: WAITING_OF_ONE_MAX,
  })
  const open = new Set<Thread>()
  const idle: Thread[] = []
  let isClosed = false

  async function startThread(): Promise<Thread> {
    const progress = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
    const work = new WorkThread<RendererRequest, RendererAnswer>({
      script,
      heapMbMax: HEAP_MB_MAX,
      workerData: progress,
      env: {},
    })
    const thread = { work, progress: new Int32Array(progress) }
    open.add(thread)
    await work.ask({ type: 'start' }, { msLeft: START_MS_MAX }).catch((error: unknown) => {
      open.delete(thread)
      throw error
    })
    return thread
  }

  async function askNow(request: RendererRequest, budget: WorkBudget): Promise<RendererAnswer | Stuck> {
    if (isClosed) throw new RendererBusy('The renderer is closed')
    const thread = idle.pop() ?? (await startThread())
    try {
      return await thread.work.ask(request, budget)
    } catch (error) {
      if (!(error instanceof TooMuchWork)) throw error
      budget.msLeft = 0
      const [entry = 0, field = 0] = thread.progress
      return { entry, field: TEMPLATE_FIELDS[field] ?? 'html' }
    } finally {
      if (thread.work.hasEnded) open.delete(thread)
      else idle.push(thread)
    }
  }

  return {
    async ask(party, request, budget) {
      const asked = permits.take(party, () => askNow(request, budget))
      if (!asked) throw new RendererBusy('Too many renders are waiting')
      try {
        return await asked
      } catch (error) {
        // A thread that did not start, or the end of the service.
        if (error instanceof TooMuchWork || error instanceof ThreadLost) throw new RendererBusy(error.message)
        throw error
      }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await Promise.all([...open].map(({ work }) => work[Symbol.asyncDispose]()))
    },
  }
}

function tooLong(field: TemplateField): RenderFailure {
  return { failure: 'bound', field, message: TOO_LONG }
}

/** The position of a thread that had to be ended. */
interface Stuck {
  entry: number
  field: TemplateField
}

function failureOf(result: RendererAnswer[number] | undefined): RenderFailure | null {
  return result && 'failure' in result ? result : null
}

function takeChunk(variables: readonly string[], from: number, countMax: number): string[] {
  const chunk: string[] = []
  let length = 0
  for (const json of variables.slice(from, from + countMax)) {
    length += json.length
    if (chunk.length > 0 && length > CHUNK_LENGTH_MAX) break
    chunk.push(json)
  }
  return chunk
}
