import { readDate } from '../../kit/mime/date.ts'
import type { RemoteFlags } from '../mail.ts'
import type { CommandArguments } from './command.ts'
import type { ImapConnection } from './connection.ts'
import { readFetched } from './translate.ts'

const BATCH = 500
/** Number of batches that may wait for our caller before the socket is paused. */
const BATCHES_WAITING_MAX = 2

const asking = (set: string, names: readonly string[]): CommandArguments => [
  { type: 'SEQUENCE', value: set },
  names.map(value => ({ type: 'ATOM', value })),
]

/** Arguments with which `streamFlags` fetches the flags of a set of UIDs. */
export const flagsOf = (set: string): CommandArguments => asking(set, ['UID', 'FLAGS'])

/** Arguments with which it fetches the times of arrival and the sizes as well. */
export const factsOf = (set: string): CommandArguments =>
  asking(set, ['UID', 'FLAGS', 'INTERNALDATE', 'RFC822.SIZE'])

export interface FetchedFlags {
  uid: number
  flags: RemoteFlags
  /** Null if it was not fetched, or cannot be read. */
  receivedAt: Date | null
  /** Bytes; 0 if it was not fetched. */
  size: number
}

/**
 * The flags from one FETCH, in batches of at most 500, in constant memory: while the caller is busy with earlier
 * batches, the connection is not read.
 */
export async function* streamFlags(
  connection: ImapConnection,
  values: CommandArguments,
): AsyncGenerator<FetchedFlags[]> {
  const waiting: FetchedFlags[][] = []
  let batch: FetchedFlags[] = []
  let isDone = false
  let isAbandoned = false
  let failure: unknown = null
  let onProgress = Promise.withResolvers<void>()
  let onRoom = Promise.withResolvers<void>()
  const hand = () => {
    if (batch.length > 0) waiting.push(batch)
    batch = []
    onProgress.resolve()
  }
  const waitForRoom = async () => {
    const resume = connection.pauseWatch()
    // oxlint-disable-next-line no-unmodified-loop-condition -- the consumer's end sets it
    while (waiting.length >= BATCHES_WAITING_MAX && !isAbandoned && !connection.isClosed) {
      onRoom = Promise.withResolvers<void>()
      await onRoom.promise
    }
    resume()
  }
  const run = async () => {
    await connection.run({
      name: 'UID FETCH',
      arguments: values,
      answers: {
        async FETCH(_, [list]) {
          const fetched = readFetched(list)
          if (!fetched?.flags || isAbandoned) return
          const { uid, flags, internalDate, size } = fetched
          batch.push({ uid, flags, receivedAt: readDate(internalDate), size })
          if (batch.length < BATCH) return
          hand()
          if (waiting.length >= BATCHES_WAITING_MAX) await waitForRoom()
        },
      },
    })
  }
  const ended = run()
    .catch((error: unknown) => (failure = error))
    .finally(() => {
      isDone = true
      hand()
    })
  try {
    for (;;) {
      const next = waiting.shift()
      onRoom.resolve()
      if (next) yield next
      else if (failure) throw failure
      else if (isDone) return
      else {
        await onProgress.promise
        onProgress = Promise.withResolvers<void>()
      }
    }
  } finally {
    // Other commands must wait until the server has finished.
    isAbandoned = true
    onRoom.resolve()
    await ended
  }
}
