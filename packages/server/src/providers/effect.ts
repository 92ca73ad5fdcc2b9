import { ProviderFailure, restate } from './failure.ts'

/** The changes that one call makes, so that its failure can report whether anything was changed. */
export interface EffectRecord {
  /** Runs work that makes one change. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Runs work that makes several changes, each of which may fail by itself. */
  runEach<T extends { failure: ProviderFailure | null }>(work: () => Promise<T[]>): Promise<T[]>
  /** Records a change by work that may still fail. */
  done(): void
}

/**
 * Runs work that changes something. Its failures report whether nothing was changed at all.
 * @param open makes the object by which the work makes its changes
 */
export async function changingBy<E, T>(
  open: (record: EffectRecord) => E,
  work: (effect: E) => Promise<T>,
): Promise<T> {
  const { record, describe } = openRecord()
  try {
    return await work(open(record))
  } catch (error) {
    throw describe(error)
  }
}

/** Thrown in place of the first change of a rehearsal. */
class Rehearsed extends Error {}

/** Runs work that changes something up to its first change, and fails as it does before that. Nothing is changed. */
export async function rehearsing<E>(
  open: (record: EffectRecord) => E,
  work: (effect: E) => Promise<unknown>,
): Promise<void> {
  const stop = () => Promise.reject(new Rehearsed())
  try {
    await work(open({ run: stop, runEach: stop, done: () => undefined }))
  } catch (error) {
    if (error instanceof ProviderFailure) throw restate(error, { isBeforeAcceptance: true })
    if (!(error instanceof Rehearsed)) throw error
  }
}

/** `changingBy` for work in batches. */
export async function* changingInBatchesBy<E, T>(
  open: (record: EffectRecord) => E,
  work: (effect: E) => AsyncGenerator<T, void, void>,
): AsyncGenerator<T, void, void> {
  const { record, describe } = openRecord()
  try {
    yield* work(open(record))
  } catch (error) {
    throw describe(error)
  }
}

function openRecord() {
  let isAsked = false
  let isDone = false
  const record: EffectRecord = {
    async run(work) {
      isAsked = true
      const result = await work()
      isDone = true
      return result
    },
    async runEach(work) {
      isAsked = true
      const outcomes = await work()
      isDone ||= outcomes.some(({ failure }) => failure === null || !failure.isBeforeAcceptance)
      return outcomes
    },
    done: () => void (isDone = true),
  }
  return {
    record,
    describe(error: unknown) {
      if (!(error instanceof ProviderFailure)) return error
      const isBeforeAcceptance = !isDone && (!isAsked || error.isBeforeAcceptance)
      return restate(error, { isBeforeAcceptance })
    },
  }
}
