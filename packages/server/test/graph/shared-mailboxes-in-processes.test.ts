import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Caller } from '../caller.ts'
import { openTestApp } from '../open-app.ts'
import { ageGrants } from '../tokens/age-grants.ts'
import { countEvents, statusesOf } from '../tokens/shared-mailboxes.ts'
import { waitUntil } from '../wait-until.ts'
import { addOfficeUser, addShared, connectUser, SANDBOX_APPS } from './delegates.ts'
import { type GraphApp, openGraphApp } from './open-graph-app.ts'

const LOGIN = 'login.microsoftonline.com'
const SHARED = 20
const CALLERS = 50

/** An app whose refresh tokens work once. */
const CLIENT = { clientId: 'single-use', clientSecret: 'single-use-secret' }

let graph: GraphApp

beforeAll(async () => {
  graph = await openGraphApp({ roles: ['api'], config: SANDBOX_APPS })
})
afterAll(() => graph[Symbol.asyncDispose]())

/**
 * The APIs of three instances of the service on one database, each with a memory of its own that holds no token yet. Each
 * has two keys, since one may have 16 requests in flight.
 */
async function openInstances(): Promise<AsyncDisposable & { callers: Caller[] }> {
  await using opened = new AsyncDisposableStack()
  const { app, sandbox } = graph
  const { database, keyRing } = app
  const options = { roles: ['api' as const], database, keyRing, config: { sandboxUrl: sandbox.controlUrl } }
  const callers = []
  for (let nth = 0; nth < 3; nth++) {
    const instance = opened.use(await openTestApp(options))
    for (let key = 0; key < 2; key++) callers.push(instance.as((await app.createKey()).text))
  }
  const owned = opened.move()
  return { callers, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

const repeat = <T>(value: T, count: number) => Array.from({ length: count }, () => value)

async function countRefreshes(): Promise<number> {
  return (await graph.sandbox.calls({ host: LOGIN, method: 'POST' })).items.filter(({ path }) =>
    path.endsWith('/token'),
  ).length
}

test('a delegate with 20 shared mailboxes refreshes once for 50 callers of 3 instances, stops once, and comes back', async () => {
  const { app, sandbox } = graph
  await sandbox.addClient({ provider: 'microsoft', cloud: 'global', ...CLIENT, singleUseRefreshTokens: true })
  const made = await app.post<{ id: string }>('/v1/oauth-apps', {
    provider: 'microsoft',
    cloud: 'global',
    name: 'Ours',
    ...CLIENT,
  })
  const eva = await addOfficeUser(sandbox, { name: 'eva' })
  const given = { oauthAppId: made.body.id, clientId: CLIENT.clientId }
  const delegate = await connectUser(app, sandbox, eva, given)
  const shared: Account[] = []
  for (let nth = 0; nth < SHARED; nth++) {
    const desk = await addOfficeUser(sandbox, { name: 'desk', messages: 1, delegates: [eva] })
    shared.push(await addShared(app, delegate.id, desk))
  }
  const ids = [delegate.id, ...shared.map(({ id }) => id)]
  /** Asks the provider for each account in turn, by searches that only it can answer. */
  const ask = (callers: readonly Caller[]) =>
    Promise.all(
      Array.from({ length: CALLERS }, async (_, nth) => {
        const caller = callers[nth % callers.length]!
        const path = `/v1/accounts/${ids[nth % ids.length]}/search/messages?q=nothing&source=provider`
        const { status, body } = await caller.get<{ code?: string }>(path)
        return body.code ?? status
      }),
    )

  await using first = await openInstances()
  await ageGrants(app.db)
  const before = await countRefreshes()
  expect(new Set(await ask(first.callers))).toEqual(new Set([200]))
  expect(await countRefreshes()).toBe(before + 1)
  expect(await statusesOf(app.db, delegate.id)).toEqual(repeat('active', SHARED))

  await sandbox.changeUser(eva, { passwordChanged: true })
  await ageGrants(app.db)
  await using second = await openInstances()
  expect(new Set(await ask(second.callers))).toEqual(new Set(['account_reauth_required']))
  const lost = 'reauth_required delegate_reauth_required'
  await waitUntil(
    'all to stop',
    async () => (await statusesOf(app.db, delegate.id)).every(status => status === lost) || null,
  )
  expect(await countEvents(app.db, ids, 'account.reauth_required')).toEqual(repeat(1, SHARED + 1))

  await connectUser(app, sandbox, eva, given)
  expect(await statusesOf(app.db, delegate.id)).toEqual(repeat('active', SHARED))
  // Each was connected once, and once more now.
  expect(await countEvents(app.db, ids, 'account.connected')).toEqual(repeat(2, SHARED + 1))
  const renewed = await countRefreshes()
  expect(new Set(await ask(second.callers))).toEqual(new Set([200]))
  expect(await countRefreshes()).toBe(renewed)
})
