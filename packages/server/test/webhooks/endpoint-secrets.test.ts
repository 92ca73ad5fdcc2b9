import { randomBytes } from 'node:crypto'
import type { WebhookEndpoint } from '@waxwing/contract/notifications/webhooks.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { rotateKeyRing } from '../../src/accounts/key-rotation.ts'
import { openWebhookKeys, type WebhookKeys } from '../../src/features/notifications/webhooks/secrets.ts'
import { type EndpointTarget, findTargets } from '../../src/features/notifications/webhooks/target-store.ts'
import { newId } from '../../src/kit/ids.ts'
import { environmentKeyRing } from '../../src/kit/key-ring.ts'
import { silentLog } from '../../src/kit/log.ts'
import type { Caller } from '../caller.ts'
import { tablesWith } from '../database-text.ts'
import type { TestApp } from '../open-app.ts'
import { createEndpoint, HOOK, openWebhookApp } from './open-webhooks.ts'

interface Rotated {
  secret: string
  previousSecretExpiresAt: string | null
}

const OLD_KEY = randomBytes(32).toString('base64')

let app: TestApp
let keys: WebhookKeys
let caller: Caller
let tenantId: string

beforeAll(async () => {
  const keyRing = environmentKeyRing(OLD_KEY)
  app = await openWebhookApp({ keyRing })
  keys = await openWebhookKeys(app.db, keyRing)
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(async () => {
  const tenant = await app.createTenant(newId())
  tenantId = tenant.tenantId
  caller = tenant
})

const bytesOf = (secret: string) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
const target = async (id: string) => {
  const found = (await findTargets(app.db, { keys, log: silentLog }, [id])).get(id)
  if (!found) throw new Error('The endpoint is gone')
  return found
}
const rotate = async (id: string, body?: Record<string, unknown>) =>
  (await caller.post<Rotated>(`/v1/webhooks/${id}/rotate-secret`, body)).body
const endpoint = async (id: string) => {
  const { body } = await caller.get<{ items: WebhookEndpoint[] }>('/v1/webhooks')
  return body.items.find(item => item.id === id)
}
const announce = () =>
  inTransaction(app.db, tenantId, async unit =>
    unit.announce({ type: 'webhook.test', accountId: null, data: { message: 'x' } }),
  )
const fromEventId = async (id: string) => {
  const { rows } = await sql<{ id: string }>`
    select from_event_id::text as id from webhook_endpoint where id = ${id}
  `.execute(app.db)
  return rows[0]?.id
}
const newestEvent = async () => {
  const { rows } = await sql<{ id: string }>`
    select id::text as id from event where tenant_id = ${tenantId} order by event.id desc limit 1
  `.execute(app.db)
  return rows[0]?.id ?? '0'
}

const bytesToSignWith = ({ signingKeys }: EndpointTarget) => signingKeys.map(key => key.export())

describe('the secret of an endpoint', () => {
  test('is 32 bytes, which deliveries are signed with', async () => {
    const made = await createEndpoint(caller)
    expect(bytesOf(made.secret)).toHaveLength(32)
    const found = await target(made.endpoint.id)
    expect(found).toMatchObject({ tenantId, url: new URL(HOOK) })
    expect(bytesToSignWith(found)).toEqual([bytesOf(made.secret)])
  })

  test('is in no table and no log, and is repeated only under the Idempotency-Key', async () => {
    const key = { 'idempotency-key': newId() }
    const first = await caller.post<{ endpoint: WebhookEndpoint; secret: string }>(
      '/v1/webhooks',
      { url: HOOK },
      key,
    )
    const again = await caller.post('/v1/webhooks', { url: HOOK }, key)
    expect(again.body).toEqual(first.body)
    const { secret, endpoint: made } = first.body
    const rotated = await rotate(made.id)
    const shown = `${app.logLines.join('')}${JSON.stringify(await endpoint(made.id))}`
    for (const text of [secret, rotated.secret]) {
      expect(await tablesWith(app.db, bytesOf(text))).toEqual([])
      expect(await tablesWith(app.db, text)).toEqual([])
      expect(shown).not.toContain(text.slice(6, -1))
    }
  })

  test('opens in the row of its endpoint only', async () => {
    const [one, two] = [await createEndpoint(caller), await createEndpoint(caller)]
    await sql`
      update webhook_endpoint set secret = (select secret from webhook_endpoint where id = ${one.endpoint.id})
      where id = ${two.endpoint.id}
    `.execute(app.db)
    const ids = [one.endpoint.id, two.endpoint.id]
    const found = await findTargets(app.db, { keys, log: silentLog }, ids)
    expect([...found.keys()]).toEqual([one.endpoint.id])
  })
})

describe('a rotation', () => {
  test('keeps the replaced secret for a day, or for graceSeconds', async () => {
    const made = await createEndpoint(caller)
    const { id } = made.endpoint
    for (const [body, seconds] of [
      [undefined, 86_400],
      [{ graceSeconds: 60 }, 60],
      [{ graceSeconds: 604_800 }, 604_800],
    ] as const) {
      const before = await target(id)
      const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(app.db)
      const { secret, previousSecretExpiresAt } = await rotate(id, body)
      const after = await target(id)
      expect(bytesToSignWith(after)).toEqual([bytesOf(secret), bytesToSignWith(before)[0]])
      expect(await endpoint(id)).toMatchObject({ previousSecretExpiresAt })
      const passed = new Date(String(previousSecretExpiresAt)).getTime() - (rows[0]?.now.getTime() ?? 0)
      expect(passed).toBeGreaterThanOrEqual(seconds * 1000)
      expect(passed).toBeLessThan((seconds + 30) * 1000)
    }
  })

  test('with graceSeconds 0 ends the replaced secret, and the one before, at once', async () => {
    const { endpoint: made } = await createEndpoint(caller)
    await rotate(made.id)
    const { secret, previousSecretExpiresAt } = await rotate(made.id, { graceSeconds: 0 })
    expect(previousSecretExpiresAt).toBeNull()
    expect(bytesToSignWith(await target(made.id))).toEqual([bytesOf(secret)])
    expect(await endpoint(made.id)).toMatchObject({ previousSecretExpiresAt: null })
  })

  test('is over at the end of its grace', async () => {
    const { endpoint: made } = await createEndpoint(caller)
    const { secret } = await rotate(made.id)
    await sql`
      update webhook_endpoint set previous_secret_expires_at = clock_timestamp() - interval '1 second' where id = ${made.id}
    `.execute(app.db)
    expect(bytesToSignWith(await target(made.id))).toEqual([bytesOf(secret)])
    expect(await endpoint(made.id)).toMatchObject({ previousSecretExpiresAt: null })
  })

  test('works on a disabled endpoint', async () => {
    const { endpoint: made } = await createEndpoint(caller)
    await caller.patch(`/v1/webhooks/${made.id}`, { isEnabled: false })
    const { secret } = await rotate(made.id)
    expect(bytesToSignWith(await target(made.id))[0]).toEqual(bytesOf(secret))
    expect(await endpoint(made.id)).toMatchObject({ isEnabled: false })
  })

  test('of the master key leaves every secret readable with the new key alone', async () => {
    const made = await createEndpoint(caller)
    const newKey = randomBytes(32).toString('base64')
    await rotateKeyRing(app.db, environmentKeyRing(`${newKey},${OLD_KEY}`))
    const afterwards = await openWebhookKeys(app.db, environmentKeyRing(newKey))
    const found = await findTargets(app.db, { keys: afterwards, log: silentLog }, [made.endpoint.id])
    expect(bytesToSignWith(found.get(made.endpoint.id)!)).toEqual([bytesOf(made.secret)])
  })
})

describe('the first event of an endpoint', () => {
  test('is the event after the newest one, at its creation and when it is enabled again', async () => {
    await announce()
    const { endpoint: made } = await createEndpoint(caller)
    const atFirst = await newestEvent()
    expect(await fromEventId(made.id)).toBe(atFirst)
    await announce()
    await caller.patch(`/v1/webhooks/${made.id}`, { isEnabled: true, description: 'still enabled' })
    expect(await fromEventId(made.id)).toBe(atFirst)
    await caller.patch(`/v1/webhooks/${made.id}`, { isEnabled: false })
    await announce()
    await caller.patch(`/v1/webhooks/${made.id}`, { isEnabled: true })
    expect(await fromEventId(made.id)).toBe(await newestEvent())
  })

  test('has no marks of failures once it is enabled, or its URL changes', async () => {
    for (const body of [{ isEnabled: true }, { url: `${HOOK}/2` }]) {
      const { endpoint: made } = await createEndpoint(caller)
      const fail = (isEnabled: boolean) =>
        sql`
          update webhook_endpoint set failing_since = clock_timestamp(), is_enabled = ${isEnabled},
            disabled_reason = ${isEnabled ? null : 'failing'} where id = ${made.id}
        `.execute(app.db)
      await fail(true)
      const cleared = { failingSince: null, disabledReason: null }
      expect(
        (await caller.patch(`/v1/webhooks/${made.id}`, { description: 'x' })).body['failingSince'],
      ).not.toBeNull()
      expect(await caller.patch(`/v1/webhooks/${made.id}`, body)).toMatchObject({ body: cleared })
      await fail(false)
      expect(await endpoint(made.id)).toMatchObject({ isEnabled: false, disabledReason: 'failing' })
      const isEnabled = 'isEnabled' in body
      expect(
        await caller.patch(`/v1/webhooks/${made.id}`, {
          ...body,
          ...(isEnabled ? {} : { url: `${HOOK}/3` }),
        }),
      ).toMatchObject({
        body: { ...cleared, isEnabled },
      })
    }
  })
})
