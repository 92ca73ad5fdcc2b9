import { expect } from 'vitest'
import { readFeed } from '../../sync/followed-account.ts'
import type { SdkWorld } from './world.ts'

/** Settings, the feed, the audit log and usage of a tenant, and the document. */
export async function walkTenant({ waxwing, check, app, account, called }: SdkWorld): Promise<void> {
  const { accountId } = await account()
  const change = { undoSendSeconds: 10, redirectUris: ['https://app.example.com/a?b=c'] }
  await check('settings.update', 'PATCH /settings', () => waxwing.settings.update(change), change)
  const settings = await check('settings.get', 'GET /settings', () => waxwing.settings.get())
  expect(settings).toMatchObject(change)
  await waxwing.settings.update({ undoSendSeconds: 0 })
  const query = `action=account.create&accountId=${accountId}&limit=1`
  const audit = await check('auditLog.list', `GET /audit-log?${query}`, () =>
    waxwing.auditLog.list({ action: 'account.create', accountId, limit: 1 }),
  )
  expect(audit.items).toHaveLength(1)
  const [from, to] = ['2026-01-01', '2026-01-31']
  await check('usage.get', `GET /usage?from=${from}&to=${to}`, () => waxwing.usage.get({ from, to }))
  const document = await check('openapi', 'GET /openapi.json', () => waxwing.openapi())
  expect(document).toMatchObject({ openapi: expect.any(String) })

  const types = ['account.connected', 'mailbox.created'] as const
  const page = await check('changes.list', `GET /changes?limit=2&types=${types[0]}&types=${types[1]}`, () =>
    waxwing.changes.list({ limit: 2, types: [...types] }),
  )
  const { events } = await readFeed(app)
  const wanted = events.filter(({ type }) => (types as readonly string[]).includes(type))
  expect(page.items).toEqual(wanted.slice(0, 2))
  const streamed: unknown[] = []
  for await (const event of waxwing.changes.stream({ cursor: page.nextCursor, types: [...types] })) {
    streamed.push(event)
    if (streamed.length === wanted.length - 2) break
  }
  expect(streamed).toEqual(wanted.slice(2))
  called.add('changes.stream')
}
