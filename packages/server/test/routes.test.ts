import { readFileSync } from 'node:fs'
import { contract } from '@waxwing/contract/contract.ts'
import { type OperationMeta, type Scope, SCOPES } from '@waxwing/contract/operation.ts'
import { type Reason, reasons } from '@waxwing/contract/reasons.ts'
import { EVENT_STREAM } from '@waxwing/contract/shapes.ts'
import { describe, expect, test } from 'vitest'
import { requireSealedValue } from '../src/database/sealed-value.ts'
import { createAccountToken, createApiKey, revokeApiKey } from '../src/features/tenancy/credentials/store.ts'
import { makeCredential } from '../src/features/tenancy/credentials/rules.ts'
import { assignPlan } from '../src/features/accounts/plans/assign.ts'
import { NO_LIMITS } from '../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../src/features/tenancy/plans/store.ts'
import { createTenant } from '../src/features/tenancy/tenants/store.ts'
import { newId } from '../src/kit/ids.ts'
import { openTestApp, type TestApp } from './open-app.ts'
import { addHalves } from './halves.ts'

/** The table of who may do what. A new route gets its line here, so that a reviewer sees it. */
const TABLE = new URL('goldens/routes.txt', import.meta.url)

interface Rule {
  method: string
  path: string
  /** `none`: hosted, with the token of a session as the credential. */
  scope: Scope | 'none'
  /** Whether a key that is bound to accounts may use it for those. */
  boundKey: boolean
  accountToken: boolean
  /** The rest of the line: module, audit action and limit of the body. */
  declared: string
}

const rules: Rule[] = readFileSync(TABLE, 'utf8')
  .trimEnd()
  .split('\n')
  .slice(1)
  .map(line => {
    const [method = '', path = '', scope = '', boundKey, accountToken, ...declared] = line.split(/ +/)
    // The first test compares the scopes with the contract's.
    return {
      method,
      path,
      scope: scope as Rule['scope'],
      boundKey: boundKey === 'yes',
      accountToken: accountToken === 'yes',
      declared: declared.join(' '),
    }
  })

/** The routes that need a credential. */
const guarded = rules.filter(({ scope }) => scope !== 'none')

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`

test('the table of routes is the contract’s', () => {
  const operations = Object.values(contract).flatMap(section => Object.values(section))
  const declared = operations.map(operation => {
    const meta: OperationMeta = operation['~orpc'].meta
    const body = `${meta.bodyBytesMax / 1024 / 1024}MiB`
    return `${nameOf(meta)} ${meta.scope} ${meta.accountToken} ${meta.module ?? '-'} ${meta.audit ?? '-'} ${body}`
  })
  const listed = rules.map(rule => `${nameOf(rule)} ${rule.scope} ${rule.accountToken} ${rule.declared}`)
  expect(listed.toSorted()).toEqual(declared.toSorted())
})

type Key = { tenantId: string; scopes: Scope[]; accountIds: string[] | null; expiresAt: Date | null }

async function createAccount(app: TestApp, tenantId: string): Promise<string> {
  const id = newId()
  const email = `${id}@example.com`
  await app.db
    .insertInto('account')
    .values({ id, tenant_id: tenantId, provider: 'imap', email, auth_method: 'password' })
    .execute()
  await addHalves(app.db)
  return id
}

/** Creates every kind of credential. Bound ones are bound to the account `own`. */
async function createCredentials(app: TestApp, own: string) {
  const { db, keyRing, tenantId } = app
  const pepper = await requireSealedValue(db, keyRing, 'credential_pepper')
  const stranger = await createTenant(db, 'stranger')
  const suspended = await createTenant(db, 'suspended')
  if (!stranger || !suspended) throw new Error('The test database has these tenants already')
  await db.updateTable('tenant').set({ suspended_at: new Date() }).where('id', '=', suspended.id).execute()
  const soon = new Date(Date.now() + 3_600_000)
  const past = new Date(Date.now() - 1000)

  const key = async (change: Partial<Key> = {}) =>
    createApiKey(db, pepper, {
      name: 'test',
      tenantId,
      scopes: [...SCOPES],
      accountIds: null,
      expiresAt: null,
      ...change,
    })
  const { id: apiKeyId } = await key()
  const token = async (scopes: readonly Scope[], expiresAt: Date) =>
    (await createAccountToken(db, pepper, { apiKeyId, accountId: own, scopes, expiresAt })).text
  const revoked = await key()
  await revokeApiKey(db, revoked.id)
  const good = (await key()).text
  return {
    refused: {
      'an unknown key': makeCredential('api_key', newId()),
      'an unknown token': makeCredential('account_token', newId()),
      'a key with a wrong end': good.slice(0, -1) + (good.endsWith('a') ? 'b' : 'a'),
      'a word': 'secret',
      'an MCP key': good.replace('wk_', 'wmk_'),
      'a revoked key': revoked.text,
      'a key of a suspended tenant': (await key({ tenantId: suspended.id })).text,
      'an expired token': await token(SCOPES, past),
    },
    expired: (await key({ expiresAt: past })).text,
    full: good,
    byScope: Object.fromEntries(
      await Promise.all(SCOPES.map(async scope => [scope, (await key({ scopes: [scope] })).text] as const)),
    ) as Record<Scope, string>, // one for each scope, as mapped
    bound: (await key({ accountIds: [own] })).text,
    boundReader: (await key({ accountIds: [own], scopes: ['read'] })).text,
    stranger: (await key({ tenantId: stranger.id })).text,
    token: await token(SCOPES, soon),
    writerToken: await token(['write'], soon),
  }
}

/** Queries that a route requires. */
const NEEDED: Record<string, string> = {
  '/v1/accounts/{accountId}/search/messages': '?q=word',
  '/v1/accounts/{accountId}/calendar-events': '?start=2026-01-01T00:00:00Z&end=2026-02-01T00:00:00Z',
}

const TODAY = { start: new Date().toISOString(), end: new Date(Date.now() + 86_400_000).toISOString() }

/** Bodies without which a route refuses its input. */
const NEEDED_BODIES: Record<string, object> = {
  'POST /v1/accounts/{accountId}/calendar-events': {
    calendarId: newId(),
    start: { date: '2026-01-01' },
    end: { date: '2026-01-02' },
  },
  'POST /v1/accounts/{accountId}/calendar-events/{eventId}/respond': { response: 'accepted' },
  'POST /v1/accounts/{accountId}/calendars': { name: 'Work' },
  'POST /v1/accounts/{accountId}/availability/find': TODAY,
  'POST /v1/availability/find': { ...TODAY, accountIds: [newId()] },
  'POST /v1/accounts/{accountId}/identities': { address: 'sales@example.com' },
  'POST /v1/accounts/{accountId}/mailboxes': { name: 'Projects' },
  'POST /v1/accounts/{accountId}/mail-merges': {
    subject: 'Hello',
    text: 'Hello',
    entries: [{ to: { address: 'ada@example.com' } }],
  },
  'POST /v1/accounts/{accountId}/outbox': { to: [{ address: 'ada@example.com' }] },
  'PATCH /v1/accounts/{accountId}/outbox/{outboxId}': { sendAt: null },
  'POST /v1/accounts/{accountId}/shared-mailboxes': { email: 'desk@example.com' },
}

async function openMatrix() {
  const app = await openTestApp({ config: { trustProxy: ['127.0.0.1'] } })
  const own = await createAccount(app, app.tenantId)
  const other = await createAccount(app, app.tenantId)
  const credentials = await createCredentials(app, own)
  let clients = 0

  /**
   * Answer of the route, as `status code`. Each request comes from a client of its own, so that the brake stops none.
   */
  async function ask(
    rule: Rule,
    accountId: string,
    credential: string | null,
    query = (rule.method === 'GET' && NEEDED[rule.path]) || '',
  ): Promise<string> {
    clients += 1
    const client = `10.${clients >> 16}.${(clients >> 8) & 255}.${clients & 255}`
    const path = rule.path.replace('{accountId}', accountId).replaceAll(/\{\w+\}/g, newId())
    const body = NEEDED_BODIES[nameOf(rule)]
    const answer = await fetch(app.address + path + query, {
      method: rule.method,
      headers: {
        'x-forwarded-for': client,
        ...(credential === null ? {} : { authorization: `Bearer ${credential}` }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (answer.headers.get('content-type') === EVENT_STREAM) {
      // It has no end.
      await answer.body?.cancel()
      return `${answer.status} ok`
    }
    const { code = 'ok' }: { code?: string } = (await answer.json()) ?? {}
    return `${answer.status} ${code}`
  }
  return { app, ask, own, other, credentials, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

const refusal = (reason: Reason) => `${reasons[reason].status} ${reason}`
/**
 * An unknown parameter is refused right after the app, whatever the operation: a request that gets so far was let in.
 */
const WRONG_INPUT = '?unknown=1'
const LET_IN = refusal('invalid_input')

describe('each route', () => {
  test('refuses unknown callers', async () => {
    await using matrix = await openMatrix()
    const { refused, expired } = matrix.credentials
    for (const rule of guarded) {
      const known = { 'no credential': null, ...refused }
      for (const [kind, credential] of Object.entries(known)) {
        expect({
          route: nameOf(rule),
          kind,
          answer: await matrix.ask(rule, matrix.own, credential, WRONG_INPUT),
        }).toEqual({
          route: nameOf(rule),
          kind,
          answer: refusal('unauthenticated'),
        })
      }
      expect(await matrix.ask(rule, matrix.own, expired, WRONG_INPUT)).toBe(refusal('api_key_expired'))
    }
  })

  test('needs exactly its own scope', async () => {
    await using matrix = await openMatrix()
    for (const rule of guarded) {
      for (const scope of SCOPES) {
        const answer = await matrix.ask(rule, matrix.own, matrix.credentials.byScope[scope], WRONG_INPUT)
        const expected = scope === rule.scope ? LET_IN : refusal('missing_scope')
        expect({ route: nameOf(rule), scope, answer }).toEqual({
          route: nameOf(rule),
          scope,
          answer: expected,
        })
      }
    }
  })

  test('lets a bound key use its accounts, and hides all other accounts', async () => {
    await using matrix = await openMatrix()
    const { bound, boundReader } = matrix.credentials
    for (const rule of guarded) {
      const route = nameOf(rule)
      const own = await matrix.ask(rule, matrix.own, bound, WRONG_INPUT)
      expect({ route, own }).toEqual({
        route,
        own: rule.boundKey ? LET_IN : refusal('account_scope_forbidden'),
      })
      if (rule.scope !== 'read') {
        expect(await matrix.ask(rule, matrix.own, boundReader, WRONG_INPUT)).toBe(refusal('missing_scope'))
      }
      if (!rule.path.includes('{accountId}')) continue
      for (const hidden of [matrix.other, newId(), 'nonsense', '%00']) {
        const other = await matrix.ask(rule, hidden, bound)
        expect({ route, hidden, other }).toEqual({ route, hidden, other: refusal('account_not_found') })
      }
    }
  })

  test('hides an account from the key of another tenant as if it did not exist', async () => {
    await using matrix = await openMatrix()
    for (const rule of rules.filter(({ path }) => path.includes('{accountId}'))) {
      for (const hidden of [matrix.own, newId(), 'nonsense', '%00', '..%20..']) {
        const answer = await matrix.ask(rule, hidden, matrix.credentials.stranger)
        expect({ route: nameOf(rule), hidden, answer }).toEqual({
          route: nameOf(rule),
          hidden,
          answer: refusal('account_not_found'),
        })
      }
    }
  })

  test('lets an account token reach the content of its account only', async () => {
    await using matrix = await openMatrix()
    const { token, writerToken } = matrix.credentials
    const forbidden = refusal('account_token_forbidden')
    for (const rule of guarded) {
      const route = nameOf(rule)
      const own = await matrix.ask(rule, matrix.own, token, WRONG_INPUT)
      expect({ route, own }).toEqual({ route, own: rule.accountToken ? LET_IN : forbidden })
      for (const other of [matrix.other, newId(), 'nonsense']) {
        expect(await matrix.ask(rule, other, token, WRONG_INPUT)).toBe(forbidden)
      }
      const narrow = await matrix.ask(rule, matrix.own, writerToken, WRONG_INPUT)
      const isWrong = rule.scope === 'write' ? LET_IN : refusal('missing_scope')
      expect({ route, narrow }).toEqual({ route, narrow: rule.accountToken ? isWrong : forbidden })
    }
  })

  test('needs its module, once its input is right', { tags: ['postgres-16'] }, async () => {
    await using matrix = await openMatrix()
    const { app, credentials } = matrix
    await assignPlan(app.db, app.tenantId, await createPlan(app.db, 'bare', { ...NO_LIMITS, modules: [] }))
    const missing = refusal('plan_module_unavailable')
    for (const rule of guarded) {
      const route = nameOf(rule)
      const needsModule = !rule.declared.startsWith('- ')
      expect(await matrix.ask(rule, matrix.own, credentials.full, WRONG_INPUT)).toBe(LET_IN)
      const isRefused = (await matrix.ask(rule, matrix.own, credentials.full)) === missing
      expect({ route, isRefused }).toEqual({ route, isRefused: needsModule })
    }
  })
})
