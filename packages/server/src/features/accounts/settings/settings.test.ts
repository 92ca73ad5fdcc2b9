import type { ChangeEvent } from '@waxwing/contract/events.ts'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { describe, expect, test } from 'vitest'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { useTestApp } from '../../../../test/use-app.ts'

const OWN_WINDOW = { settings_override: JSON.stringify({ syncWindowDays: 7 }) }
const NO_SETTINGS = { settings_override: '{}' }

const { newTenant } = useTestApp()

describe('GET /v1/settings', () => {
  test('returns the initial settings of a tenant', async () => {
    const app = await newTenant()

    expect((await app.get('/v1/settings')).body).toEqual({
      bodyStorage: 'cache',
      syncWindowDays: 90,
      calendarEnabled: true,
      contactsEnabled: false,
      undoSendSeconds: 0,
      trackOpens: false,
      trackClicks: false,
      trackingHoneypot: false,
      optOutHandling: 'review',
      eventRetentionDays: 30,
      redirectUris: [],
      aiReplyClassification: false,
      mcpSendPolicy: {
        mode: 'confirm',
        allowedRecipientDomains: null,
        dailySendLimit: null,
        externalRecipientConfirmation: false,
      },
    })
  })
})

describe('PATCH /v1/settings', () => {
  test('changes only the given fields, also within mcpSendPolicy', async () => {
    const app = await newTenant()

    await app.patch('/v1/settings', {
      mcpSendPolicy: { mode: 'drafts_only', allowedRecipientDomains: ['Example.COM'] },
    })
    const answer = await app.patch('/v1/settings', {
      redirectUris: [
        'https://app.example.com/return?x=1',
        'http://localhost:3000/',
        'com.example.app:/return',
      ],
      mcpSendPolicy: { dailySendLimit: 5 },
    })

    expect(answer.body).toMatchObject({
      bodyStorage: 'cache',
      redirectUris: [
        'https://app.example.com/return?x=1',
        'http://localhost:3000/',
        'com.example.app:/return',
      ],
      mcpSendPolicy: { mode: 'drafts_only', allowedRecipientDomains: ['example.com'], dailySendLimit: 5 },
    })
    expect((await app.get('/v1/settings')).body).toEqual(answer.body)
  })

  test.each<[Record<string, unknown>, string]>([
    [{ trackingHoneypot: true }, 'honeypot_needs_click_tracking'],
    [{ eventRetentionDays: 6 }, 'invalid_input'],
    [{ eventRetentionDays: 31 }, 'invalid_input'],
    [{ syncWindowDays: 0 }, 'invalid_input'],
    [{ bodyStorage: null }, 'invalid_input'],
    [{ redirectUris: ['javascript:alert(1)'] }, 'invalid_input'],
    [{ redirectUris: ['JavaScript:alert(1)'] }, 'invalid_input'],
    [{ redirectUris: ['data:text/html,x'] }, 'invalid_input'],
    [{ redirectUris: ['http://example.com/'] }, 'invalid_input'],
    [{ redirectUris: ['https://user@example.com/'] }, 'invalid_input'],
    [{ redirectUris: ['https://example.com/#x'] }, 'invalid_input'],
    [{ redirectUris: ['https:\\\\example.com'] }, 'invalid_input'],
    [{ redirectUris: ['//example.com'] }, 'invalid_input'],
    [{ redirectUris: Array.from({ length: 51 }, (_, at) => `https://example.com/${at}`) }, 'invalid_input'],
    [{ mcpSendPolicy: { dailySendLimit: 0 } }, 'invalid_input'],
    [{ mcpSendPolicy: { mode: 'never' } }, 'invalid_input'],
    [{ mcpSendPolicy: null }, 'invalid_input'],
    [{ colour: 'red' }, 'invalid_input'],
  ])('refuses %j', async (body, code) => {
    const app = await newTenant()
    const before = await app.get('/v1/settings')

    expect((await app.patch('/v1/settings', body)).body['code']).toBe(code)
    expect((await app.get('/v1/settings')).body).toEqual(before.body)
  })

  test('affects accounts without a value of their own, and restarts their syncs if necessary', async () => {
    const app = await newTenant()
    const inherits = await sampleAccount(app.db, app.tenantId, NO_SETTINGS)
    const own = await sampleAccount(app.db, app.tenantId, OWN_WINDOW)
    const gone = await sampleAccount(app.db, app.tenantId, { ...NO_SETTINGS, deleted_at: new Date() })
    const other = await app.createTenant()
    const foreign = await sampleAccount(app.db, other.tenantId, NO_SETTINGS)

    await app.patch('/v1/settings', { syncWindowDays: 30 })
    await app.patch('/v1/settings', { trackOpens: true })
    // One setting that IMAP accounts never have, and one that is not a setting of accounts.
    await app.patch('/v1/settings', { calendarEnabled: false, eventRetentionDays: 7 })

    const { body } = await app.get<{ items: ChangeEvent[] }>('/v1/changes')
    expect(body.items.map(({ accountId, type, data }) => [accountId, type, data['changes']])).toEqual([
      [inherits.id, 'account.updated', ['settings']],
      [inherits.id, 'account.updated', ['settings']],
      [own.id, 'account.updated', ['settings']],
    ])
    const shown = await app.get<Account>(`/v1/accounts/${inherits.id}`)
    expect(body.items[1]?.data['account']).toEqual(shown.body)
    const rows = await app.db.selectFrom('account_half').select(['account_id as id', 'sync_wanted']).execute()
    const wanted = new Map(rows.map(row => [row.id, row.sync_wanted]))
    expect(wanted.get(inherits.id)).toEqual(['restart'])
    for (const { id } of [own, gone, foreign]) expect(wanted.get(id)).toEqual([])
  })

  test('disables the honeypot of an account without tracked clicks, and enables it again with them', async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId, NO_SETTINGS)
    const honeypot = async () => (await app.get<Account>(`/v1/accounts/${id}`)).body.settings.trackingHoneypot
    await app.patch('/v1/settings', { trackClicks: true })
    await app.patch(`/v1/accounts/${id}`, { settings: { trackingHoneypot: true } })
    expect(await honeypot()).toBe(true)

    await app.patch('/v1/settings', { trackClicks: false })
    expect(await honeypot()).toBe(false)
    await app.patch('/v1/settings', { trackClicks: true })
    expect(await honeypot()).toBe(true)
  })

  test('requires an unbound key with the scope admin', async () => {
    const app = await newTenant()
    const account = await sampleAccount(app.db, app.tenantId)
    const writer = app.as((await app.createKey({ scopes: ['read', 'write', 'send'] })).text)
    const bound = app.as((await app.createKey({ accountIds: [account.id] })).text)

    expect((await writer.patch('/v1/settings', {})).body['code']).toBe('missing_scope')
    expect((await bound.patch('/v1/settings', {})).body['code']).toBe('account_scope_forbidden')
    expect((await bound.get('/v1/settings')).body['code']).toBe('account_scope_forbidden')
  })
})
