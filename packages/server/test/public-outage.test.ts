import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accountKeys } from '../src/accounts/secrets.ts'
import { type Links, openLinks } from '../src/features/sending/links.ts'
import { unsubscribeUrl } from '../src/features/sending/suppressions/unsubscribe-link.ts'
import { sealLinks } from '../src/features/sending/tracking/sealed-links.ts'
import { trackHtml } from '../src/features/sending/tracking/track-html.ts'
import { newId } from '../src/kit/ids.ts'
import { type LosingDatabase, openLosingDatabase } from './losing-database.ts'
import { openTestApp, type TestApp } from './open-app.ts'
import { openTestDatabase } from './open-database.ts'
import { sampleAccount } from './sample-rows.ts'

const CONFIG = { linksUrl: 'https://links.example.com', baseUrl: null, sandboxUrl: null }
const TARGET = 'https://example.org/one'

const opened = new AsyncDisposableStack()
let database: LosingDatabase
let app: TestApp
let links: Links

beforeAll(async () => {
  database = opened.use(await openLosingDatabase(opened.use(await openTestDatabase())))
  app = opened.use(await openTestApp({ database: database.database, config: CONFIG }))
  links = await openLinks({ db: app.db, keyRing: app.keyRing, config: CONFIG, baseUrl: () => '' })
})
afterAll(() => opened.disposeAsync())

const ask = (path: string, init?: RequestInit) => fetch(app.address + path, { redirect: 'manual', ...init })

/** The link and the pixel of a tracked message. */
async function trackOne() {
  const account = await sampleAccount(app.db, app.tenantId)
  const keys = accountKeys(app.keyRing)
  const ids = { id: account.id, tenant_id: account.tenantId }
  const data_key = await app.db.transaction().execute(tx => keys.createDataKey(tx, ids))
  await app.db.updateTable('account').set({ data_key }).where('id', '=', account.id).execute()
  const outboxId = newId()
  const tracking = { opens: true, clicks: true, honeypot: false }
  const { html, urls } = trackHtml(`<p><a href="${TARGET}">one</a></p>`, tracking, { outboxId, links })
  const sealed = sealLinks(keys, { ...ids, data_key }, outboxId, urls)
  await app.db
    .insertInto('tracked_send')
    .values({ outbox_id: outboxId, account_id: account.id, links: sealed })
    .execute()
  const [click = '', pixel = ''] = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(
    ([, url]) => new URL(url ?? '').pathname,
  )
  return { outboxId, click, pixel }
}

async function openConnectPage(): Promise<string> {
  await app.patch('/v1/settings', { redirectUris: ['https://app.example.com/connected'] })
  const { body } = await app.post<{ url: string }>('/v1/connect-sessions', {})
  return new URL(body.url).pathname
}

describe('while the database is away', () => {
  test('links and pages answer 503 with a page for people, and work again afterwards', async () => {
    const { click, pixel } = await trackOne()
    const about = { tenantId: app.tenantId, listId: 'news', address: 'ada@example.org', outboxId: newId() }
    const unsubscribe = new URL(unsubscribeUrl(links, about)).pathname
    const connect = await openConnectPage()
    const oneClick = { method: 'POST', body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) }
    const asked: [path: string, init: RequestInit | undefined, status: number][] = [
      [click, undefined, 302],
      [pixel, undefined, 200],
      [unsubscribe, undefined, 200],
      [unsubscribe, oneClick, 200],
      [connect, undefined, 200],
    ]
    database.goAway()
    const answers = await Promise.all(asked.map(([path, init]) => ask(path, init)))
    for (const answer of answers) {
      expect(answer.status).toBe(503)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'/)
      expect(await answer.text()).toContain('<h1>Please try again in a moment</h1>')
    }
    database.comeBack()
    const again = await Promise.all(asked.map(([path, init]) => ask(path, init)))
    expect(again.map(({ status }) => status)).toEqual(asked.map(([, , status]) => status))
  })

  test('a click waits for a database that comes back soon', async () => {
    const { outboxId, click } = await trackOne()
    database.loseNextStatement(outboxId)
    const lost = database.lost()
    const answer = await ask(click)
    expect(database.lost()).toBe(lost + 1)
    expect([answer.status, answer.headers.get('location')]).toEqual([302, TARGET])
  })
})
