/** @module-tag postgres-16 */
import { implement } from '@orpc/server'
import { operation } from '@waxwing/contract/operation.ts'
import { accountPath, pathName } from '@waxwing/contract/shapes.ts'
import { sql } from 'kysely'
import { z } from 'zod'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Act, actOperations } from '../../test/act-operation.ts'
import { openTestDoor } from '../../test/open-door.ts'
import type { HostedSession } from '../wing/hosted-session.ts'
import type { RequestContext } from '../calls/context.ts'
import { refuse } from '../calls/refuse.ts'
import { newId } from '../kit/ids.ts'

const SESSION: HostedSession = { id: newId(), tenantId: '', accountIds: [], ended: null }

const contract = {
  step: operation({
    method: 'PATCH',
    path: '/v1/accounts/{accountId}/steps/{address}',
    scope: 'write',
    audit: 'step.update',
    summary: 'Take a step, then be refused.',
    refuses: ['account_paused'],
    params: accountPath.extend({ address: pathName }),
    output: z.null(),
  }),
  name: operation({
    method: 'POST',
    path: '/v1/things',
    scope: 'write',
    audit: 'thing.create',
    makes: 'thingId',
    summary: 'Create something.',
    body: z.strictObject({ isNamed: z.boolean() }),
    output: z.object({ secret: z.string() }),
  }),
  hosted: operation({
    method: 'POST',
    path: '/v1/hosted/{token}',
    scope: 'none',
    session: 'connect_session',
    audit: 'thing.update',
    summary: 'Do something in a hosted page.',
    params: z.strictObject({ token: pathName }),
    output: z.null(),
  }),
}
const on = implement(contract).$context<RequestContext>()
const THING = newId()
const acts = actOperations()

let door: Awaited<ReturnType<typeof openTestDoor>>
let key: string
beforeAll(async () => {
  door = await openTestDoor({
    operations: {
      ...acts.operations,
      step: on.step.handler(async ({ context }) => {
        await context.step(unit =>
          unit.sql
            .insertInto('sealed_value')
            .values({ name: 'step', sealed: Buffer.alloc(0) })
            .execute(),
        )
        return context.change(() => refuse('account_paused'))
      }),
      name: on.name.handler(({ context, input: { body } }) =>
        context.change(async () => {
          if (body.isNamed) context.target({ thingId: THING })
          return { secret: 'shown once' }
        }),
      ),
      hosted: on.hosted.handler(({ context }) => context.change(async () => null)),
    },
    hostedSessions: {
      connect_session: {
        find: async token => (token === 'open' ? { ...SESSION, tenantId: door.tenantId } : null),
      },
    },
  })
  key = await door.createKey()
})
afterAll(() => door[Symbol.asyncDispose]())

interface Sent {
  method?: string
  path?: string
  body?: unknown
  headers?: Record<string, string>
}

/** Sends a request, by default one that acts. Returns its status and its rows. */
async function send({ method = 'POST', path = '/v1/act', body, headers = {} }: Sent) {
  const requestId = newId()
  const answer = await fetch(door.address + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-request-id': requestId,
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  await answer.bytes()
  return { status: answer.status, rows: await rowsOf(requestId) }
}

async function rowsOf(requestId: string) {
  const { rows } = await sql<{ status: number; reason: string | null; targets: Record<string, string> }>`
    select status, error_reason as reason, targets from audit_open where request_id = ${requestId}
  `.execute(door.db)
  return rows
}

const act = (note: string, outcome: Act['outcome'] = 'done') => ({ note, outcome }) satisfies Act
const row = (status: number, reason: string | null) => ({ status, reason, targets: {} })
const keyed = (text: string) => ({ 'idempotency-key': text })
/** The outcome of a request that has one row. */
const answered = (status: number, reason: string | null) => ({ status, rows: [row(status, reason)] })

describe('under an Idempotency-Key', () => {
  test('a repeated answer leaves no row', async () => {
    const sent = { body: act('once'), headers: keyed('repeated') }
    expect([await send(sent), await send(sent)]).toEqual([answered(202, null), { status: 202, rows: [] }])
  })

  test('a repeated refusal leaves no row', async () => {
    const sent = { body: act('no', 'refused'), headers: keyed('refused') }
    expect([await send(sent), await send(sent)]).toEqual([
      answered(409, 'account_paused'),
      { status: 409, rows: [] },
    ])
  })

  test('each try of a request that fails leaves a row', async () => {
    const sent = { body: act('fails', 'failed'), headers: keyed('failed') }
    expect([await send(sent), await send(sent)]).toEqual([
      answered(500, 'internal_error'),
      answered(500, 'internal_error'),
    ])
  })

  test('a key that is used, in use or malformed leaves a row', async () => {
    const hold = acts.holdNext()
    const first = send({ body: act('held'), headers: keyed('held') })
    await hold.entered
    expect(await send({ body: act('held'), headers: keyed('held') })).toEqual(
      answered(409, 'idempotency_key_in_progress'),
    )
    hold.release()
    expect(await first).toEqual(answered(202, null))
    expect(await send({ body: act('other'), headers: keyed('held') })).toEqual(
      answered(422, 'idempotency_key_reused'),
    )
    expect(await send({ headers: keyed('with space') })).toEqual(answered(400, 'invalid_idempotency_key'))
  })
})

describe('a body that cannot be read leaves a row', () => {
  test.each<[string, Sent, number, string]>([
    [
      'of another type',
      { headers: { 'content-type': 'text/plain' }, body: 'x' },
      415,
      'unsupported_media_type',
    ],
    ['that is no JSON', { body: '{' }, 400, 'invalid_input'],
    ['that does not fit the operation', { body: { note: 5 } }, 400, 'invalid_input'],
  ])('%s', async (_, sent, status, reason) => {
    expect(await send(sent)).toEqual(answered(status, reason))
  })

  test('that turns out to be too large', async () => {
    const requestId = newId()
    const answer = await fetch(`${door.address}/v1/act`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-request-id': requestId,
      },
      body: new Blob([Buffer.alloc(3 * 1024 * 1024, ' ')]).stream(),
      duplex: 'half',
    } as RequestInit)
    expect(answer.status).toBe(413)
    expect(await rowsOf(requestId)).toEqual([row(413, 'payload_too_large')])
  })
})

describe('leaves no row', () => {
  test.each<[string, Sent, number]>([
    ['without a credential', { headers: { authorization: '' } }, 401],
    ['when it declares too large a body', { body: ' '.repeat(3 * 1024 * 1024) }, 413],
    ['when it is throttled by what it asks for', { body: act('later', 'throttled') }, 429],
    ['with a method that the path does not take', { method: 'DELETE' }, 405],
  ])('%s', async (_, sent, status) => {
    expect(await send(sent)).toEqual({ status, rows: [] })
  })

  test('without the scope', async () => {
    const reader = await door.createKey(['read'])
    expect(await send({ headers: { authorization: `Bearer ${reader}` } })).toEqual({ status: 403, rows: [] })
  })

  test('while the service is overloaded', async () => {
    door.overload(['costly', 'read', 'write'])
    expect(await send({ body: act('shed') })).toEqual({ status: 503, rows: [] })
    door.overload([])
  })
})

test('a refused change leaves only the row of its refusal', async () => {
  const count = () => door.db.selectFrom('sealed_value').select('name').execute()
  const before = await count()
  expect(await send({ body: act('no', 'refused') })).toEqual(answered(409, 'account_paused'))
  expect(await count()).toEqual(before)
})

test('names the ids of the path, and nothing else of it', async () => {
  const accountId = newId()
  const sent = { method: 'PATCH', path: `/v1/accounts/${accountId.toUpperCase()}/steps/ada%40example.com` }
  expect(await send(sent)).toEqual({
    status: 409,
    rows: [{ status: 409, reason: 'account_paused', targets: { accountId } }],
  })
  expect((await send({ ...sent, path: '/v1/accounts/my-password/steps/x' })).rows).toMatchObject([
    { targets: {} },
  ])
})

test('names what was made, if the answer has it not as id', async () => {
  expect(await send({ path: '/v1/things', body: { isNamed: true } })).toMatchObject({
    status: 200,
    rows: [{ targets: { thingId: THING } }],
  })
})

test('an operation that does not name what it made fails in tests', async () => {
  expect(await send({ path: '/v1/things', body: { isNamed: false } })).toMatchObject({
    status: 500,
    // It was committed.
    rows: [{ status: 200 }],
  })
})

test('a hosted call has its session as the actor', async () => {
  const path = '/v1/hosted/open'
  expect(await send({ path, headers: { authorization: '' } })).toEqual(answered(200, null))
  const { rows } = await sql`
    select surface, actor_type, actor_id, actor_label from audit_open where action = 'thing.update'
  `.execute(door.db)
  expect(rows).toEqual([
    { surface: 'hosted', actor_type: 'connectSession', actor_id: SESSION.id, actor_label: null },
  ])
})

test('many refusals at once have one row each', async () => {
  // As many as a key may have in flight.
  const all = await Promise.all(Array.from({ length: 16 }, () => send({ body: { note: 5 } })))
  expect(all).toEqual(Array.from({ length: 16 }, () => answered(400, 'invalid_input')))
})

test('keeps the first 512 characters of the user agent', async () => {
  await send({ body: act('agent'), headers: { 'user-agent': 'a'.repeat(600), 'x-request-id': 'agent' } })
  const { rows } = await sql<{ length: number }>`
    select length(user_agent) from audit_open where request_id = 'agent'
  `.execute(door.db)
  expect(rows).toEqual([{ length: 512 }])
})

test('without its row nothing is changed, and a refusal is not given', async () => {
  await sql`alter table audit_open rename to audit_gone`.execute(door.db)
  const sent = (body: unknown) =>
    fetch(`${door.address}/v1/act`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const before = await door.db.selectFrom('sealed_value').select('name').execute()
  const statuses = [(await sent(act('done'))).status, (await sent(act('no', 'refused'))).status]
  const after = await door.db.selectFrom('sealed_value').select('name').execute()
  await sql`alter table audit_gone rename to audit_open`.execute(door.db)
  expect({ statuses, after }).toEqual({ statuses: [500, 500], after: before })
})
