import type { ImapResponse } from 'imapflow/lib/handler/types.js'
import { restate } from '../../failure.ts'
import type { Command } from '../command.ts'
import type { ImapConnection } from '../connection.ts'
import { toFailure } from '../failure.ts'

/** The commands of one call that change something, so that its failure can report whether anything was changed. */
export interface Effect {
  /** Runs a command that changes something. */
  run(command: Command): Promise<ImapResponse>
}

/** Runs work that changes something. Its failures report whether nothing was changed at all. */
export async function changing<T>(
  connection: ImapConnection,
  work: (effect: Effect) => Promise<T>,
): Promise<T> {
  const effect = openEffect(connection)
  try {
    return await work(effect)
  } catch (error) {
    throw effect.describe(error)
  }
}

/** The same for work in batches. */
export async function* changingInBatches<T>(
  connection: ImapConnection,
  work: (effect: Effect) => AsyncGenerator<T, void, void>,
): AsyncGenerator<T, void, void> {
  const effect = openEffect(connection)
  try {
    yield* work(effect)
  } catch (error) {
    throw effect.describe(error)
  }
}

function openEffect(connection: ImapConnection) {
  let isAsked = false
  let isDone = false
  return {
    async run(command: Command) {
      isAsked = true
      const response = await connection.run(command)
      isDone = true
      return response
    },
    describe(error: unknown) {
      const failure = toFailure(error)
      const isBeforeAcceptance = !isDone && (!isAsked || failure.isBeforeAcceptance)
      return restate(failure, { isBeforeAcceptance })
    },
  }
}
