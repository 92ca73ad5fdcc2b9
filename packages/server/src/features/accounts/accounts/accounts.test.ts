import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { eventsOf } from '../../../../test/imap-accounts.ts'
import type { TestApp } from '../../../../test/open-app.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { useTestApp } from '../../../../test/use-app.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import { newId } from '../../../kit/ids.ts'

type Page = { items: Account[]; nextCursor: string | null }

const UNFOLLOWED = { state: 'pending', detail: 'no process follows the account at the moment' }
const NO_SETTINGS = { settings_override: '{}' }

const { newTenant } = useTestApp()

async function listIds(app: Pick<TestApp, 'get'>, query: string): Promise<string[]> {
  const { status, body } = await app.get<Page>(`/v1/accounts${query}`)
  expect(status).toBe(200)
  return body.items.map(({ id }) => id)
}

async function syncWanted({ db }: Pick<TestApp, 'db'>, accountId: string): Promise<string[]> {
  const account = db.selectFrom('account_half').select('sync_wanted').where('account_id', '=', accountId)
  return (await account.executeTakeFirstOrThrow()).sync_wanted
}

describe('GET /v1/accounts', () => {
  test('lists newest first, in pages without repeats or gaps', { tags: ['postgres-16'] }, async () => {
    const app = await newTenant()
    const ids: string[] = []
    // Pairs are created in the same millisecond, so that only the id orders them.
    for (let at = 0; at < 7; at += 1) {
      const account = await sampleAccount(app.db, app.tenantId, { created_at: new Date(1.7e12 + (at >> 1)) })
      ids.unshift(account.id)
    }
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`
      const { body }: { body: Page } = await app.get<Page>(`/v1/accounts?limit=2${query}`)
      seen.push(...body.items.map(({ id }) => id))
      cursor = body.nextCursor
    } while (cursor !== null)
    expect(seen).toEqual(ids)
  })

  test('applies every filter, and binds the cursor to them', { tags: ['postgres-16'] }, async () => {
    const app = await newTenant()
    const { db, tenantId } = app
    const ada = await sampleAccount(db, tenantId, { email: 'Ada@example.com', external_ref: 'crm_1' })
    const bob = await sampleAccount(db, tenantId, {
      email: 'bob@example.org',
      external_ref: 'CRM-1',
      status: 'paused',
    })
    await sampleAccount(db, (await app.createTenant()).tenantId, { email: 'ada@example.com' })
    await sampleAccount(db, tenantId, { email: 'ada@gone.example', deleted_at: new Date() })

    expect(await listIds(app, '')).toEqual([bob.id, ada.id])
    expect(await listIds(app, '?q=ADA')).toEqual([ada.id])
    expect(await listIds(app, '?q=m_1')).toEqual([ada.id])
    expect(await listIds(app, '?q=%25')).toEqual([])
    expect(await listIds(app, '?q=crm')).toEqual([bob.id, ada.id])
    expect(await listIds(app, '?externalRef=crm_1')).toEqual([ada.id])
    expect(await listIds(app, '?externalRef=crm_')).toEqual([])
    expect(await listIds(app, '?status=paused')).toEqual([bob.id])
    expect(await listIds(app, `?orgConnectionId=${newId()}`)).toEqual([])
    expect(await listIds(app, `?delegateAccountId=${newId()}`)).toEqual([])

    const { body } = await app.get<Page>('/v1/accounts?limit=1')
    const reused = await app.get(`/v1/accounts?status=active&cursor=${body.nextCursor}`)
    expect(reused).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
    for (const query of [
      '?limit=0',
      '?limit=201',
      '?q=',
      '?status=gone',
      '?orgConnectionId=1',
      '?colour=red',
    ]) {
      expect((await app.get(`/v1/accounts${query}`)).body['code'], query).toBe('invalid_input')
    }
  })

  test('shows a bound key its accounts only', { tags: ['postgres-16'] }, async () => {
    const app = await newTenant()
    const mine = await sampleAccount(app.db, app.tenantId)
    const other = await sampleAccount(app.db, app.tenantId)
    const { text } = await app.createKey({ accountIds: [mine.id] })
    const bound = app.as(text)

    expect(await listIds(bound, '')).toEqual([mine.id])
    expect((await bound.get(`/v1/accounts/${mine.id}`)).status).toBe(200)
    const refused = await bound.get(`/v1/accounts/${other.id}`)
    const unknown = await bound.get(`/v1/accounts/${newId()}`)
    expect(refused.status).toBe(404)
    expect(refused.body).toEqual(unknown.body)
  })
})

describe('GET /v1/accounts/{accountId}', () => {
  test('refuses unknown, foreign, deleted and malformed ids alike', async () => {
    const app = await newTenant()
    const other = await app.createTenant()
    const foreign = await sampleAccount(app.db, other.tenantId)
    const deleted = await sampleAccount(app.db, app.tenantId, { deleted_at: new Date() })

    for (const id of [newId(), foreign.id, deleted.id, 'x', '%00', `${foreign.id}x`]) {
      const answer = await app.get(`/v1/accounts/${id}`)
      expect(answer, id).toMatchObject({ status: 404, body: { defined: true, code: 'account_not_found' } })
    }
    expect((await other.get(`/v1/accounts/${foreign.id.toUpperCase()}`)).status).toBe(200)
  })

  test.each([
    ['a live owner', '10 seconds', {}, { state: 'live', detail: 'the inbox is watched' }],
    ['an owner silent for 29 seconds', '-19 seconds', {}, { state: 'live' }],
    ['an owner silent for 31 seconds', '-21 seconds', {}, UNFOLLOWED],
    ['an owner from before the clock was set back', '2 hours', {}, UNFOLLOWED],
    ['an owner that lost the account', '10 seconds', { owner_instance: null }, UNFOLLOWED],
    ['an owner that is gone', null, {}, UNFOLLOWED],
    [
      'a paused account that its owner released',
      '10 seconds',
      { owner_instance: null, status: 'paused' as const, status_reason: 'paused_by_user' },
      { state: 'stopped', detail: 'paused_by_user' },
    ],
  ])('shows the actual state for %s', async (_, heartbeat, values, expected) => {
    const app = await newTenant()
    const instance = newId()
    if (heartbeat)
      await app.db
        .insertInto('instance')
        .values({ id: instance, heartbeat_until: new Date(0) })
        .execute()
    const reported = new Date(1.7e12)
    const { id } = await sampleAccount(app.db, app.tenantId, {
      owner_instance: heartbeat ? instance : null,
      runtime_state: 'live',
      runtime_detail: 'the inbox is watched',
      runtime_instance: instance,
      runtime_updated_at: reported,
      ...values,
    })

    const body = await waitUntil('an answer within a second of the heartbeat', async () => {
      const startedAt = performance.now()
      await sql`update instance set heartbeat_until = clock_timestamp() + ${heartbeat}::interval
        where id = ${instance}`.execute(app.db)
      const read = await app.get<Account>(`/v1/accounts/${id}`)
      return performance.now() - startedAt < 900 ? read.body : null
    })

    expect(body.runtime).toMatchObject({
      ...expected,
      ownerInstanceId: instance,
      updatedAt: reported.toISOString(),
    })
  })
})

describe('PATCH /v1/accounts/{accountId}', () => {
  test('pauses and resumes, and announces each change once', async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId)
    const path = `/v1/accounts/${id}`

    expect((await app.patch(path, { status: 'paused' })).body).toMatchObject({
      status: 'paused',
      statusReason: 'paused_by_user',
    })
    await app.patch(path, { status: 'paused' })
    const resumed = await app.patch(path, { status: 'active' })

    expect(resumed.body).toMatchObject({ status: 'active', statusReason: null })
    const events = await eventsOf(app)
    expect(events.map(({ type, data }) => [type, data['changes']])).toEqual([
      ['account.updated', ['status', 'statusReason']],
      ['account.updated', ['status', 'statusReason']],
    ])
    expect(events[1]?.data['account']).toEqual(resumed.body)
  })

  test.each([
    ['reauth_required', 'account_reauth_required'],
    ['disabled', 'account_disabled'],
  ] as const)('leaves %s until there is a new grant', async (status, code) => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId, { status })

    for (const wanted of ['active', 'paused']) {
      const answer = await app.patch(`/v1/accounts/${id}`, { status: wanted, externalRef: 'x' })
      expect(answer).toMatchObject({ status: 409, body: { code } })
    }
    expect((await app.patch(`/v1/accounts/${id}`, { externalRef: 'x' })).body).toMatchObject({
      status,
      externalRef: 'x',
    })
  })

  test('merges settings over the settings of the tenant, and resets them', async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId, NO_SETTINGS)
    const path = `/v1/accounts/${id}`
    expect((await app.get<Account>(path)).body).toMatchObject({
      settings: { syncWindowDays: 90, bodyStorage: 'cache', calendarEnabled: false, contactsEnabled: false },
      settingsOverride: {},
    })

    await app.patch(path, { settings: { syncWindowDays: null, undoSendSeconds: 10 } })
    const merged = await app.patch<Account>(path, { settings: { undoSendSeconds: 20 } })
    expect(merged.body.settingsOverride).toEqual({ syncWindowDays: null, undoSendSeconds: 20 })
    expect(merged.body.settings).toMatchObject({
      syncWindowDays: null,
      undoSendSeconds: 20,
      trackOpens: false,
    })

    const reset = await app.patch<Account>(path, {
      resetSettings: ['syncWindowDays', 'trackOpens'],
      settings: { calendarEnabled: false },
    })
    expect(reset.body.settingsOverride).toEqual({ undoSendSeconds: 20, calendarEnabled: false })
    expect(reset.body.settings.syncWindowDays).toBe(90)
    expect((await eventsOf(app)).map(({ data }) => data['changes'])).toEqual([
      ['settings', 'settingsOverride'],
      ['settings', 'settingsOverride'],
      ['settings', 'settingsOverride'],
    ])
  })

  test.each<[string, Record<string, unknown>, boolean]>([
    ['bodyStorage', { bodyStorage: 'none' }, true],
    ['syncWindowDays', { syncWindowDays: 7 }, true],
    ['the value that the tenant has', { syncWindowDays: 90 }, false],
    ['undoSendSeconds', { undoSendSeconds: 60 }, false],
  ])('restarts the syncs only if the effective value changes: %s', async (_, settings, isRestarted) => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId, NO_SETTINGS)

    expect((await app.patch(`/v1/accounts/${id}`, { settings })).status).toBe(200)

    expect(await syncWanted(app, id)).toEqual(isRestarted ? ['restart'] : [])
  })

  test.each<[Record<string, unknown>, string]>([
    [{ settings: { trackingHoneypot: true } }, 'honeypot_needs_click_tracking'],
    [{ settings: { calendarEnabled: true } }, 'provider_unsupported'],
    [{ settings: { contactsEnabled: true } }, 'provider_unsupported'],
    [{ settings: { sharedMailboxesEnabled: true } }, 'provider_unsupported'],
    [{ settings: { syncWindowDays: 0 } }, 'invalid_input'],
    [{ settings: { syncWindowDays: 36_501 } }, 'invalid_input'],
    [{ settings: { undoSendSeconds: null } }, 'invalid_input'],
    [{ settings: { undoSendSeconds: 61 } }, 'invalid_input'],
    [{ settings: { trackOpens: 'yes' } }, 'invalid_input'],
    [{ settings: { colour: 'red' } }, 'invalid_input'],
    [{ settings: { trackOpens: true }, resetSettings: ['trackOpens'] }, 'invalid_input'],
    [{ resetSettings: ['redirectUris'] }, 'invalid_input'],
    [{ status: 'disabled' }, 'invalid_input'],
    [{ externalRef: 'x'.repeat(256) }, 'invalid_input'],
    [{ externalRef: 'a\0b' }, 'invalid_input'],
    [{ tenantId: newId() }, 'invalid_input'],
  ])('refuses %j and changes nothing', async (body, code) => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId, NO_SETTINGS)
    const before = await app.get(`/v1/accounts/${id}`)

    expect((await app.patch(`/v1/accounts/${id}`, body)).body['code']).toBe(code)
    expect((await app.get(`/v1/accounts/${id}`)).body).toEqual(before.body)
    expect(await eventsOf(app)).toEqual([])
  })

  test('loses none of many simultaneous changes', async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId, NO_SETTINGS)
    const changes = [
      { trackOpens: true },
      { trackClicks: true },
      { undoSendSeconds: 5 },
      { syncWindowDays: 5 },
    ]

    await Promise.all(changes.map(settings => app.patch(`/v1/accounts/${id}`, { settings })))

    const { body } = await app.get<Account>(`/v1/accounts/${id}`)
    expect(body.settingsOverride).toEqual(Object.assign({}, ...changes))
    const last = (await eventsOf(app)).at(-1)
    expect(last?.data['account']).toMatchObject({ settingsOverride: body.settingsOverride })
  })

  test('counts the length of externalRef in code points, and accepts null', async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId)
    const longest = '🦜'.repeat(255)

    expect((await app.patch(`/v1/accounts/${id}`, { externalRef: longest })).body['externalRef']).toBe(
      longest,
    )
    expect((await app.patch(`/v1/accounts/${id}`, { externalRef: null })).body['externalRef']).toBeNull()
  })
})

describe('POST /v1/accounts/{accountId}/sync', () => {
  test('requests one pass of each enabled kind, however often it is called', async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId, { status: 'paused' })

    for (const body of [undefined, {}, { kinds: ['mail', 'mail'] }]) {
      const answer = await app.post(`/v1/accounts/${id}/sync`, body)
      expect(answer).toMatchObject({ status: 202, body: { kinds: ['mail'] } })
    }

    expect((await syncWanted(app, id)).toSorted()).toEqual(['mail', 'renewal'])
    expect(await eventsOf(app)).toEqual([])
  })

  test('names the kinds that the account does not run', async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId)

    const answer = await app.post(`/v1/accounts/${id}/sync`, { kinds: ['contacts', 'mail', 'calendar'] })

    expect(answer).toMatchObject({
      status: 409,
      body: { code: 'sync_kinds_disabled', data: { kinds: ['contacts', 'calendar'] } },
    })
    expect((await app.post(`/v1/accounts/${id}/sync`, { kinds: [] })).body['code']).toBe('invalid_input')
  })

  test(
    'allows 30 requests a minute for each account, from all callers together',
    { tags: ['postgres-16'] },
    async () => {
      const app = await newTenant()
      const { id } = await sampleAccount(app.db, app.tenantId)
      const other = await sampleAccount(app.db, app.tenantId)
      const statuses: number[] = []
      for (let batch = 0; batch < 4; batch += 1) {
        const answers = await Promise.all(
          Array.from({ length: 10 }, () => app.post(`/v1/accounts/${id}/sync`)),
        )
        statuses.push(...answers.map(({ status }) => status))
      }
      const refused = await app.post(`/v1/accounts/${id}/sync`)

      expect(statuses.filter(status => status === 202)).toHaveLength(30)
      expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
      const wait = Number(refused.headers.get('retry-after'))
      expect(wait).toBeGreaterThan(30)
      expect(wait).toBeLessThanOrEqual(60)
      expect((await app.post(`/v1/accounts/${other.id}/sync`)).status).toBe(202)

      await app.db
        .updateTable('account')
        .set({ wake_window_at: sql`now() - interval '61 seconds'` })
        .where('id', '=', id)
        .execute()
      expect((await app.post(`/v1/accounts/${id}/sync`)).status).toBe(202)
    },
  )
})
