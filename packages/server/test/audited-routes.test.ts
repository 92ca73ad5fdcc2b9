import { ContractProcedure } from '@orpc/contract'
import { implement } from '@orpc/server'
import { contract } from '@waxwing/contract/contract.ts'
import type { Operation, OperationMeta } from '@waxwing/contract/operation.ts'
import { sql } from 'kysely'
import { z } from 'zod'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RequestContext } from '../src/calls/context.ts'
import { refuse } from '../src/calls/refuse.ts'
import { newId } from '../src/kit/ids.ts'
import { openTestDoor } from './open-door.ts'

const procedures: Operation[] = Object.values(contract).flatMap(
  section => Object.values(section) as Operation[],
)
const metas: OperationMeta[] = procedures.map(procedure => procedure['~orpc'].meta)
const audited = metas.filter(({ audit }) => audit !== null)

const OUTCOMES = ['done', 'refused', 'failed', 'throttled', 'overloaded'] as const
type Outcome = (typeof OUTCOMES)[number]
const STATUSES: Record<Outcome, number | null> = {
  done: null,
  refused: 403,
  failed: 500,
  throttled: 429,
  overloaded: 503,
}
/** The id of what an operation makes. */
const MADE = newId()
/** The session of hosted operations. */
const SESSION = newId()

/** Ends as `X-Request-Id` orders, in place of the operation. */
function handle(context: RequestContext) {
  const outcome = context.requestId.split(':')[0] as Outcome
  return context.change(async () => {
    if (outcome === 'refused') refuse('missing_scope')
    if (outcome === 'throttled') refuse('rate_limited')
    if (outcome === 'overloaded') refuse('overloaded')
    if (outcome === 'failed') throw new Error('A fault that a test asked for')
    return { id: MADE }
  })
}

const operations = Object.fromEntries(
  procedures.map((procedure, nth) => {
    const anyInput = new ContractProcedure({ ...procedure['~orpc'], inputSchema: z.unknown() })
    const on = implement(anyInput).$context<RequestContext>()
    return [`operation${nth}`, on.handler(({ context }) => handle(context) as never)]
  }),
)

let door: Awaited<ReturnType<typeof openTestDoor>>
let key: string
beforeAll(async () => {
  const find = () => Promise.resolve({ id: SESSION, tenantId: door.tenantId, accountIds: [], ended: null })
  const hostedSessions = { connect_session: { find }, meeting_connect_session: { find } }
  door = await openTestDoor({ operations, hostedSessions, isStrict: false, trustProxy: ['127.0.0.1'] })
  key = await door.createKey()
})
afterAll(() => door[Symbol.asyncDispose]())

/** The path with ids, and those that the log should name. */
function filled({ path }: OperationMeta): { path: string; ids: Record<string, string> } {
  const ids: Record<string, string> = {}
  const text = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (!name.endsWith('Id')) return encodeURIComponent('ada@example.com')
    return (ids[name] = newId())
  })
  return { path: text, ids }
}

async function send(meta: OperationMeta, path: string, requestId: string) {
  const answer = await fetch(door.address + path, {
    method: meta.method,
    headers: {
      authorization: `Bearer ${key}`,
      'x-request-id': requestId,
      'x-forwarded-for': '203.0.113.7',
      'user-agent': 'probe/1.0',
    },
  })
  await answer.bytes()
  return answer.status
}

async function rowsOf(requestId: string) {
  const { rows } = await sql<Record<string, unknown>>`
    select actor_type, actor_label, action, surface, targets, host(ip::inet) as ip, user_agent, status, error_reason
    from audit_open where request_id = ${requestId}
  `.execute(door.db)
  return rows
}

describe.each(audited.map(meta => [`${meta.method} ${meta.path}`, meta] as const))('%s', (_, meta) => {
  test.each(OUTCOMES)('that is %s leaves the rows that it should', async outcome => {
    const { path, ids } = filled(meta)
    const requestId = `${outcome}:${newId()}`
    const status = await send(meta, path, requestId)
    expect(status).toBe(STATUSES[outcome] ?? meta.successStatus)
    const isDone = outcome === 'done'
    const made = isDone && meta.makes !== null ? { [meta.makes]: MADE } : {}
    const isHosted = meta.session !== null
    const row = {
      actor_type: isHosted ? 'connectSession' : 'apiKey',
      actor_label: isHosted ? null : 'test',
      action: meta.audit,
      surface: isHosted ? 'hosted' : 'v1',
      targets: { ...ids, ...made },
      ip: '203.0.113.7',
      user_agent: 'probe/1.0',
      status,
      error_reason: isDone ? null : expect.any(String),
    }
    expect(await rowsOf(requestId)).toEqual(status === 429 || status === 503 ? [] : [row])
  })
})

test('operations that read have no action, and leave no row', async () => {
  const reads = metas.filter(({ method, scope }) => method === 'GET' || scope === 'read')
  expect(reads.filter(({ audit, path }) => audit !== null && !path.includes('/exports/'))).toEqual([])
  for (const meta of reads) {
    const requestId = `refused:${newId()}`
    await send(meta, filled(meta).path, requestId)
    expect(await rowsOf(requestId)).toEqual([])
  }
})
