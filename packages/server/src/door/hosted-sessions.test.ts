import { implement } from '@orpc/server'
import { operation } from '@waxwing/contract/operation.ts'
import { z } from 'zod'
import { describe, expect, test } from 'vitest'
import { useTestDoors } from '../../test/use-doors.ts'
import type { RequestContext } from '../calls/context.ts'
import type { HostedSession } from '../wing/hosted-session.ts'
import { newId } from '../kit/ids.ts'

const MEBIBYTE = 1024 * 1024

const connect = operation({
  method: 'POST',
  path: '/v1/hosted/connect-sessions/{token}/imap-accounts',
  scope: 'none',
  session: 'connect_session',
  audit: 'account.create',
  makes: null,
  summary: 'Show who calls, and store a value.',
  params: z.strictObject({ token: z.string() }),
  body: z.strictObject({ note: z.string() }),
  output: z.object({ tenantId: z.string(), credential: z.unknown(), note: z.string() }),
})

const { openDoor } = useTestDoors()

/** Opens a door with one hosted operation and sessions by their tokens, and empties the table that it writes. */
async function openHosted() {
  const sessions = new Map<string, HostedSession>()
  const operations = {
    connect: implement(connect)
      .$context<RequestContext>()
      .handler(({ input: { body }, context }) =>
        context.change(async unit => {
          await unit.sql
            .insertInto('sealed_value')
            .values({ name: newId(), sealed: Buffer.alloc(0) })
            .execute()
          return { tenantId: unit.tenantId, credential: context.credential, note: body.note }
        }),
      ),
  }
  const find = (token: string) => Promise.resolve(sessions.get(token) ?? null)
  const hostedSessions = { connect_session: { find } }
  const door = await openDoor({ operations, hostedSessions, trustProxy: ['127.0.0.1'] })
  await door.db.deleteFrom('sealed_value').execute()
  const session: HostedSession = { id: newId(), tenantId: door.tenantId, accountIds: [], ended: null }
  sessions.set('good', session)
  sessions.set('expired', { ...session, ended: 'session_expired' })
  sessions.set('used', { ...session, ended: 'session_used' })

  async function post(
    token: string,
    init: { body?: string; client?: string; headers?: Record<string, string> } = {},
  ) {
    const answer = await fetch(`${door.address}/v1/hosted/connect-sessions/${token}/imap-accounts`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-forwarded-for': init.client ?? '198.51.100.1',
        ...init.headers,
      },
      body: init.body ?? '{"note":"one"}',
    })
    const body = JSON.parse(await answer.text())
    return { status: answer.status, body, headers: answer.headers }
  }
  const effects = async () => (await door.db.selectFrom('sealed_value').select('name').execute()).length
  return { door, session, post, effects, [Symbol.asyncDispose]: door[Symbol.asyncDispose] }
}

describe('a hosted operation', () => {
  test('runs for the session of its token, and ignores any credential sent with it', async () => {
    await using hosted = await openHosted()
    const { id, tenantId } = hosted.session
    const credential = { kind: 'connect_session', id, label: null, scopes: [], accountIds: [] }
    const authorization = `Bearer ${await hosted.door.createKey()}`
    for (const init of [{}, { headers: { authorization } }]) {
      const { status, body } = await hosted.post('good', init)
      expect({ status, body }).toEqual({ status: 200, body: { tenantId, credential, note: 'one' } })
    }
    expect(await hosted.effects()).toBe(2)
  })

  test('checks the declared size, then the session, then the input', async () => {
    await using hosted = await openHosted()
    const large = JSON.stringify({ note: 'x'.repeat(2 * MEBIBYTE) })
    for (const [token, sent, expected] of [
      ['unknown', large, '413 payload_too_large'],
      ['unknown', '{', '404 connect_session_not_found'],
      ['expired', '{', '400 session_expired'],
      ['used', '{', '409 session_used'],
      ['good', '{', '400 invalid_input'],
    ] as const) {
      const { status, body } = await hosted.post(token, { body: sent })
      expect({ token, answer: `${status} ${body.code}` }).toEqual({ token, answer: expected })
    }
    expect(await hosted.effects()).toBe(0)
  })

  test('ignores Idempotency-Key', async () => {
    await using hosted = await openHosted()
    for (const key of ['same', 'same', 'not valid']) {
      const { status, headers } = await hosted.post('good', { headers: { 'idempotency-key': key } })
      expect({ status, replayed: headers.get('idempotent-replayed') }).toEqual({
        status: 200,
        replayed: null,
      })
    }
    expect(await hosted.effects()).toBe(3)
  })

  test('refuses a client for the rest of the minute after 20 unknown tokens', async () => {
    await using hosted = await openHosted()
    hosted.door.stopClock()
    for (let count = 0; count < 20; count += 1) {
      expect((await hosted.post(`guess-${count}`)).status).toBe(404)
    }
    const refused = await hosted.post('good')
    expect(refused).toMatchObject({ status: 429, body: { defined: true, code: 'rate_limited' } })
    expect((await hosted.post('good', { client: '198.51.100.2' })).status).toBe(200)
    hosted.door.pass(Number(refused.headers.get('retry-after')))
    expect((await hosted.post('good')).status).toBe(200)
  })

  test('accepts 300 requests of a client in a minute', async () => {
    await using hosted = await openHosted()
    hosted.door.stopClock()
    const statuses: number[] = []
    for (let batch = 0; batch < 31; batch += 1) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => hosted.post('used')))
      statuses.push(...answers.map(({ status }) => status))
    }
    expect(statuses.filter(status => status === 409)).toHaveLength(300)
    expect(statuses.filter(status => status === 429)).toHaveLength(10)
  })
})

test('the service does not start if a kind of session has no finder', async () => {
  const operations = {
    connect: implement(connect).handler(() => ({ tenantId: '', credential: null, note: '' })),
  }
  await expect(openDoor({ operations })).rejects.toThrow('no wing finds sessions of the kind connect_session')
})
