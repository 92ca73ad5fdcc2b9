import { implement } from '@orpc/server'
import { operation } from '@waxwing/contract/operation.ts'
import { z } from 'zod'
import type { RequestContext } from '../src/calls/context.ts'
import { refuse } from '../src/calls/refuse.ts'

const OUTCOMES = ['done', 'refused', 'throttled', 'failed'] as const
export type Outcome = (typeof OUTCOMES)[number]

export interface Act {
  note: string
  /** The outcome of the call. Only `done` has an effect. */
  outcome?: Outcome
}

const act = operation({
  method: 'POST',
  path: '/v1/act',
  scope: 'admin',
  audit: 'act.create',
  makes: null,
  summary: 'Do something once.',
  refuses: ['account_paused'],
  query: z.strictObject({ a: z.string().optional(), b: z.string().optional() }),
  body: z.strictObject({
    note: z.string(),
    outcome: z.enum(OUTCOMES).default('done'),
  }),
  output: z.object({ note: z.string(), serial: z.string() }),
  successStatus: 202,
})
const other = operation({
  method: 'PUT',
  path: '/v1/act',
  scope: 'admin',
  audit: 'act.update',
  summary: 'Do something each time.',
  output: z.object({ serial: z.number() }),
})

/**
 * Creates an operation that stores a sealed value under a serial number, in one transaction with its answer, and one
 * that ignores Idempotency-Key.
 */
export function actOperations() {
  let nextHold: { entered: PromiseWithResolvers<void>; released: PromiseWithResolvers<void> } | null = null
  let serials = 0
  const operations = {
    act: implement(act)
      .$context<RequestContext>()
      .handler(({ input: { body }, context }) =>
        context.change(async unit => {
          serials += 1
          const serial = `${serials}`
          await unit.sql
            .insertInto('sealed_value')
            .values({ name: serial, sealed: Buffer.alloc(0) })
            .execute()
          const hold = nextHold
          nextHold = null
          hold?.entered.resolve()
          await hold?.released.promise
          if (body.outcome === 'refused') refuse('account_paused')
          if (body.outcome === 'throttled') refuse('rate_limited')
          if (body.outcome === 'failed') throw new Error('A fault that a test requested')
          context.answerHeaders.etag = `"${serial}"`
          return { note: body.note, serial }
        }),
      ),
    other: implement(other)
      .$context<RequestContext>()
      .handler(({ context }) => context.change(() => Promise.resolve({ serial: (serials += 1) }))),
  }
  return {
    operations,
    /** Holds the next act within its transaction, from the moment it `entered` until it is released. */
    holdNext() {
      nextHold = { entered: Promise.withResolvers<void>(), released: Promise.withResolvers<void>() }
      return { entered: nextHold.entered.promise, release: nextHold.released.resolve }
    },
  }
}
