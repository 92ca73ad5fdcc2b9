/** @module-tag postgres-16 */
import fc from '../../test/property.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Outcome, actOperations } from '../../test/act-operation.ts'
import { openTestDoor } from '../../test/open-door.ts'

/** A step of one run. `held` is the one request that may be in progress meanwhile. */
type Step =
  | { do: 'send'; key: string; note: string; outcome: Outcome }
  | { do: 'begin'; key: string; note: string; outcome: Outcome }
  /** The held request continues and is answered. */
  | { do: 'finish' }
  /** The process of the request in progress is taken for dead. */
  | { do: 'die' }
  | { do: 'expire' }

const key = fc.constantFrom('k', 'l')
const note = fc.constantFrom('one', 'two')
const outcome = fc.constantFrom<Outcome>('done', 'done', 'refused', 'throttled', 'failed')
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('send' as const), key, note, outcome }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('begin' as const), key, note, outcome }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('finish' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('die' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('expire' as const) }) },
)

interface Kept {
  request: string
  /** Null while the request runs. */
  answer: { status: number; text: string } | null
  isDead: boolean
  isExpired: boolean
}

const STATUS: { [outcome in Outcome]: number } = { done: 202, refused: 409, throttled: 429, failed: 500 }
const isForgotten = (status: number) => status >= 500 || status === 429

type Verdict = 'run' | 'replay' | 'reused' | 'in progress'

/** The rules in their shortest form. */
class Model {
  records = new Map<string, Kept>()
  effects = 0

  judge(at: string, request: string): Verdict {
    const known = this.records.get(at)
    if (!known) return 'run'
    if (known.answer && known.isExpired) return 'run'
    if (!known.answer && known.isDead && (known.isExpired || known.request === request)) return 'run'
    if (known.request !== request) return 'reused'
    return known.answer ? 'replay' : 'in progress'
  }

  begin(at: string, request: string): Kept {
    const record: Kept = { request, answer: null, isDead: false, isExpired: false }
    this.records.set(at, record)
    return record
  }

  /** Returns the status of the answer to a request whose effect would be `outcome`. */
  end(at: string, record: Kept, wanted: Outcome, text: string): number {
    const isOwn = this.records.get(at) === record
    if (wanted === 'done' && !isOwn) return 409
    if (wanted === 'done') this.effects += 1
    const status = STATUS[wanted]
    if (isOwn && isForgotten(status)) this.records.delete(at)
    else if (isOwn) Object.assign(record, { answer: { status, text }, isExpired: false })
    return status
  }
}

const acts = actOperations()
let door: Awaited<ReturnType<typeof openTestDoor>>
let credential = ''
beforeAll(async () => {
  door = await openTestDoor({ operations: acts.operations })
  credential = await door.createKey()
})
afterAll(() => door[Symbol.asyncDispose]())

async function post(idempotencyKey: string, body: string) {
  const answer = await fetch(`${door.address}/v1/act`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${credential}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
    },
    body,
  })
  const text = await answer.text()
  return { status: answer.status, text, isReplayed: answer.headers.has('idempotent-replayed') }
}

async function countEffects(): Promise<number> {
  return (await door.db.selectFrom('sealed_value').select('name').execute()).length
}

interface Held {
  at: string
  record: Kept
  wanted: Outcome
  answer: ReturnType<typeof post>
  release(): void
}

/** Takes the steps on both the service and the model, and compares every answer. */
async function compare(steps: readonly Step[]) {
  await sql`truncate idempotency_key`.execute(door.db)
  const effectsBefore = await countEffects()
  const model = new Model()
  let held: Held | null = null

  async function finish() {
    if (!held) return
    const { at, record, wanted, answer, release } = held
    held = null
    release()
    const { status, text, isReplayed } = await answer
    expect({ status, isReplayed }).toEqual({ status: model.end(at, record, wanted, text), isReplayed: false })
  }

  async function send(next: Extract<Step, { do: 'send' | 'begin' }>) {
    const { key: at, outcome: wanted } = next
    const request = JSON.stringify({ note: next.note, outcome: wanted })
    const verdict = model.judge(at, request)
    if (verdict === 'run' && next.do === 'begin' && held === null) {
      const { entered, release } = acts.holdNext()
      const answer = post(at, request)
      await entered
      held = { at, record: model.begin(at, request), wanted, answer, release }
      return
    }
    const { status, text, isReplayed } = await post(at, request)
    if (verdict === 'replay') {
      expect({ status, text, isReplayed }).toEqual({ ...model.records.get(at)?.answer, isReplayed: true })
      return
    }
    const isRun = verdict === 'run'
    const expected = isRun
      ? model.end(at, model.begin(at, request), wanted, text)
      : verdict === 'reused'
        ? 422
        : 409
    expect({ status, isReplayed }).toEqual({ status: expected, isReplayed: false })
  }

  for (const next of steps) {
    if (next.do === 'finish') await finish()
    else if (next.do === 'die') {
      await sql`update idempotency_key set locked_until = now() - interval '1 second'`.execute(door.db)
      for (const record of model.records.values()) record.isDead = true
    } else if (next.do === 'expire') {
      await sql`update idempotency_key set expires_at = now() - interval '1 second'`.execute(door.db)
      for (const record of model.records.values()) record.isExpired = true
    } else await send(next)
  }
  await finish()
  expect((await countEffects()) - effectsBefore).toBe(model.effects)
}

test('behaves like its model for any sequence of requests, holds, dead processes and expiries', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), compare), {
    numRuns: 150,
  })
}, 300_000)
