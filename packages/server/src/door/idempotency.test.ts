import { SCOPES, type Scope } from '@waxwing/contract/operation.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { type Act, actOperations } from '../../test/act-operation.ts'
import { tablesWith } from '../../test/database-text.ts'
import { openTestApp } from '../../test/open-app.ts'
import { sampleAccount, sampleTenant } from '../../test/sample-rows.ts'
import { useTestDoors } from '../../test/use-doors.ts'
import { silentLog } from '../kit/log.ts'
import { createIdempotencyKeys, deleteExpiredAnswers } from './idempotency.ts'

const { openDoor } = useTestDoors()

/** Opens a door whose acts have an effect each, and empties the tables that they write. */
async function openActs() {
  const acts = actOperations()
  const door = await openDoor({ operations: acts.operations })
  await door.db.deleteFrom('sealed_value').execute()
  await door.db.deleteFrom('idempotency_key').execute()
  const key = await door.createKey()
  async function act(
    idempotencyKey: string,
    body: Act | string,
    options: { query?: string; key?: string } = {},
  ) {
    const answer = await fetch(`${door.address}/v1/act${options.query ?? ''}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${options.key ?? key}`,
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await answer.text()
    return {
      status: answer.status,
      text,
      code: JSON.parse(text).code as string | undefined,
      isReplayed: answer.headers.get('idempotent-replayed') === 'true',
      headers: answer.headers,
    }
  }
  async function effects() {
    const rows = await door.db.selectFrom('sealed_value').select('name').execute()
    return rows.length
  }
  /** Ends all leases, as if the processes had died a while ago. */
  const letLeasesEnd = () =>
    sql`update idempotency_key set locked_until = now() - interval '1 second'`.execute(door.db)
  const letAnswersExpire = () =>
    sql`update idempotency_key set expires_at = now() - interval '1 second'`.execute(door.db)
  return {
    ...acts,
    door,
    act,
    effects,
    letLeasesEnd,
    letAnswersExpire,
    [Symbol.asyncDispose]: door[Symbol.asyncDispose],
  }
}

const ONE: Act = { note: 'one' }

describe('Idempotency-Key', () => {
  test('answers the same request again with its first answer, for 24 hours', async () => {
    await using acts = await openActs()
    const first = await acts.act('k', ONE)
    const second = await acts.act('k', ONE)

    expect(first).toMatchObject({ status: 202, isReplayed: false })
    expect(second).toMatchObject({ status: 202, text: first.text, isReplayed: true })
    expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    expect(await acts.effects()).toBe(1)

    await acts.letAnswersExpire()
    expect(await acts.act('k', { note: 'two' })).toMatchObject({ status: 202, isReplayed: false })
    expect(await acts.effects()).toBe(2)
  })

  test('belongs to one tenant', async () => {
    await using acts = await openActs()
    const [colleague, stranger] = [
      await acts.door.createKey(),
      await acts.door.createKey(SCOPES, { tenantId: (await sampleTenant(acts.door.db)).id }),
    ]
    const first = await acts.act('k', ONE)

    expect(await acts.act('k', ONE, { key: colleague })).toMatchObject({ text: first.text, isReplayed: true })
    expect(await acts.act('k', ONE, { key: stranger })).toMatchObject({ status: 202, isReplayed: false })
    expect(await acts.effects()).toBe(2)
  })

  test('ignores the order of query parameters, but refuses another query or body', async () => {
    await using acts = await openActs()
    await acts.act('k', ONE, { query: '?a=1&b=2' })

    expect(await acts.act('k', ONE, { query: '?b=2&a=1' })).toMatchObject({ status: 202, isReplayed: true })
    for (const query of ['', '?a=1', '?a=2&b=1']) {
      expect(await acts.act('k', ONE, { query })).toMatchObject({
        status: 422,
        code: 'idempotency_key_reused',
      })
    }
    expect(await acts.act('k', '{"note": "one"}', { query: '?a=1&b=2' })).toMatchObject({ status: 422 })
  })

  test.each(['', ' ', 'a b', 'x'.repeat(256), 'é', 'a, b'])(
    'refuses the invalid key %j and does nothing',
    async key => {
      await using acts = await openActs()
      expect(await acts.act(key, ONE)).toMatchObject({ status: 400, code: 'invalid_idempotency_key' })
      expect(await acts.effects()).toBe(0)
      expect((await acts.act('!~'.repeat(127), ONE)).status).toBe(202)
    },
  )

  test('is ignored by other methods', async () => {
    await using acts = await openActs()
    const headers = { authorization: `Bearer ${await acts.door.createKey()}`, 'idempotency-key': 'a b' }
    const put = async () => (await fetch(`${acts.door.address}/v1/act`, { method: 'PUT', headers })).json()
    expect(await put()).toEqual({ serial: 1 })
    expect(await put()).toEqual({ serial: 2 })
  })

  test('keeps a refusal of the input too', async () => {
    await using acts = await openActs()
    for (const isReplayed of [false, true]) {
      expect(await acts.act('k', '{"note":')).toMatchObject({
        status: 400,
        code: 'invalid_input',
        isReplayed,
      })
    }
  })

  test('lets only one of many equal requests run at a time', async () => {
    await using acts = await openActs()
    const answers = await Promise.all(Array.from({ length: 14 }, () => acts.act('k', ONE)))

    expect(await acts.effects()).toBe(1)
    const texts = new Set(answers.filter(({ status }) => status === 202).map(({ text }) => text))
    expect(texts.size).toBe(1)
    for (const { status, code } of answers.filter(answer => answer.status !== 202)) {
      expect({ status, code }).toEqual({ status: 409, code: 'idempotency_key_in_progress' })
    }
  })

  test('names the same attempt until it is answered, also after a 429', async () => {
    await using acts = await openActs()
    const { db } = acts.door
    const { id: tenantId } = await sampleTenant(db)
    const answerKey = Buffer.alloc(32, 'k')
    const keys = createIdempotencyKeys({ db, answerKey, log: silentLog })
    const request = { tenantId, key: 'k', fingerprint: Buffer.from('f'), scopes: [], accountId: null }
    const attempts = new Set<string>()
    const ran: boolean[] = []
    for (const status of [502, 429, 429, 200, 200]) {
      const begun = await keys.begin(request)
      ran.push('claim' in begun)
      if (!('claim' in begun)) continue
      attempts.add(begun.claim.attempt.id)
      await begun.claim.end({ status, text: '{}', headers: {}, aboutAccount: null })
    }
    expect(ran).toEqual([true, true, true, true, false])
    expect(attempts.size).toBe(1)
  })

  test('stores the answer sealed', async () => {
    await using acts = await openActs()
    await acts.act('k', { note: 'told-only-once' })
    expect((await acts.act('k', { note: 'told-only-once' })).text).toContain('told-only-once')
    expect(await tablesWith(acts.door.db, 'told-only-once')).toEqual([])
  })

  test('finishes the request of a caller that hangs up', async () => {
    await using acts = await openActs()
    const { entered, release } = acts.holdNext()
    const left = new AbortController()
    const gone = fetch(`${acts.door.address}/v1/act`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await acts.door.createKey()}`,
        'content-type': 'application/json',
        'idempotency-key': 'k',
      },
      body: JSON.stringify(ONE),
      signal: left.signal,
    })
    await entered
    left.abort()
    await expect(gone).rejects.toThrow()
    release()

    await expect
      .poll(() => acts.act('k', ONE), { timeout: 60_000 })
      .toMatchObject({ status: 202, isReplayed: true })
    expect(await acts.effects()).toBe(1)
  })
})

describe('the answers of an Idempotency-Key', () => {
  test('are deleted when they expire, except for requests in progress', async () => {
    await using acts = await openActs()
    const count = async () =>
      (await acts.door.db.selectFrom('idempotency_key').select('key').orderBy('key').execute()).map(
        row => row.key,
      )
    await acts.act('answered', ONE)
    const { entered, release } = acts.holdNext()
    const running = acts.act('running', ONE)
    await entered
    await deleteExpiredAnswers(acts.door.db, new AbortController().signal)
    expect(await count()).toEqual(['answered', 'running'])

    await acts.letAnswersExpire()
    await deleteExpiredAnswers(acts.door.db, new AbortController().signal)
    expect(await count()).toEqual(['running'])
    release()
    expect((await running).status).toBe(202)
  })

  test('are refused to a caller that may not send the request', async () => {
    await using app = await openTestApp()
    const account = await sampleAccount(app.db, app.tenantId)
    const other = await sampleAccount(app.db, app.tenantId)
    const mint = async (key: string, accountId = account.id) => {
      const answer = await fetch(`${app.address}/v1/accounts/${accountId}/tokens`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'idempotency-key': 'mint' },
      })
      // All answers of this operation are objects.
      return { status: answer.status, body: (await answer.json()) as Record<string, string> }
    }
    const key = async (scopes: Scope[], accountIds: string[] | null = null) =>
      (await app.createKey({ scopes, accountIds })).text
    const minted = await mint(app.key)
    expect(minted.body['token']).toMatch(/^wat_/)

    expect(await mint(await key(['read']))).toMatchObject({ status: 403, body: { code: 'missing_scope' } })
    expect(await mint(await key(['write'], [other.id]))).toMatchObject({
      status: 404,
      body: { code: 'account_not_found' },
    })
    expect(await mint(minted.body['token'] ?? '')).toMatchObject({
      status: 403,
      body: { code: 'account_token_forbidden' },
    })
    // The token has every scope of the key that minted it.
    expect(await mint(await key(['read', 'write']))).toMatchObject({
      status: 403,
      body: { code: 'missing_scope' },
    })
    expect(await mint(await key([...SCOPES]))).toEqual(minted)
    expect(await app.db.selectFrom('account_token').select('id').execute()).toHaveLength(1)
  })
})
