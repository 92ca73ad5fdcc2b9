import type { ChangeEvent } from '@waxwing/contract/events.ts'
import type { SuppressionEntry } from '@waxwing/contract/sending/suppressions.ts'
import { GLOBAL_LIST } from '@waxwing/contract/sending/suppressions.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openLinks, type Links } from '../../src/features/sending/links.ts'
import { unsubscribeUrl } from '../../src/features/sending/suppressions/unsubscribe-link.ts'
import { newId } from '../../src/kit/ids.ts'
import type { Caller } from '../caller.ts'
import { sampleAccount } from '../sample-rows.ts'
import {
  hasFocus,
  isInWindow,
  openReferencePages,
  overflowOf,
  type ReferencePages,
} from '../reference-page.ts'

const LINKS = { linksUrl: 'https://links.example.com', baseUrl: null, sandboxUrl: null }
const ONE_CLICK = 'List-Unsubscribe=One-Click'
const URLENCODED = { 'content-type': 'application/x-www-form-urlencoded' }

let pages: ReferencePages
let links: Links
let caller: Caller
let tenantId: string

beforeAll(async () => {
  pages = await openReferencePages({ config: { ...LINKS, trustProxy: ['127.0.0.1'] } })
  links = await openLinks({
    db: pages.app.db,
    keyRing: pages.app.keyRing,
    config: LINKS,
    baseUrl: () => LINKS.linksUrl,
  })
})
afterAll(() => pages[Symbol.asyncDispose]())
beforeEach(async () => {
  const tenant = await pages.app.createTenant(newId())
  tenantId = tenant.tenantId
  caller = tenant
})

const pathFor = (address: string, listId = 'news', outboxId = newId()) =>
  new URL(unsubscribeUrl(links, { tenantId, listId, address, outboxId })).pathname
const ask = (path: string, init?: RequestInit) =>
  fetch(pages.app.address + path, { redirect: 'manual', ...init })
const post = (path: string, body: FormData | string, headers?: Record<string, string>) =>
  ask(path, { method: 'POST', body, ...(headers ? { headers } : {}) })
/** A send of the tenant, of which only the sender matters. */
async function insertSend(from: { name: string; address: string }): Promise<string> {
  const { db } = pages.app
  const account = await sampleAccount(db, tenantId)
  const id = newId()
  await sql`
    insert into outbox (id, tenant_id, account_id, status, "from", "to", cc, bcc, reply_to, snippet, has_attachments, size,
      internet_message_id, waiting, send_at)
    values (${id}, ${tenantId}, ${account.id}, 'sent', ${JSON.stringify(from)}, '[]', '[]', '[]', '[]', '', false, 1,
      ${`<${id}@x.test>`}, '{}', now())
  `.execute(db)
  return id
}
const listed = async (listId = 'news') => {
  const { status, body } = await caller.get<{ items: SuppressionEntry[] }>(
    `/v1/suppressions/${listId}/entries`,
  )
  return status === 404 ? [] : body.items.map(({ address, source }) => [address, source])
}

describe('the link of a message', () => {
  test('shows a page to everyone who asks, and changes nothing', { tags: ['postgres-16'] }, async () => {
    const path = pathFor('ada@example.org')
    for (const method of ['GET', 'HEAD']) {
      for (const query of ['', `?${ONE_CLICK}`, '?utm_source=x']) {
        const answer = await ask(path + query, { method })
        const text = await answer.text()
        expect(answer.status).toBe(200)
        expect(text.includes('>Unsubscribe</button>')).toBe(method === 'GET')
        expect(answer.headers.get('set-cookie')).toBeNull()
        expect(answer.headers.get('cache-control')).toContain('no-store')
        expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
        expect(answer.headers.get('content-security-policy')).not.toContain('unsafe')
      }
    }
    expect((await ask(path, { method: 'PUT' })).status).toBe(405)
    expect(await listed()).toEqual([])
  })

  test('names the list and the sender, and never the id of a list without a name', async () => {
    const read = async (path: string) =>
      (await (await ask(path)).text()).replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ')
    const tenant = await pages.app.db
      .selectFrom('tenant')
      .select('name')
      .where('id', '=', tenantId)
      .executeTakeFirstOrThrow()
    const outboxId = await insertSend({ name: 'Zoe of Widgets', address: 'zoe@widgets.test' })
    await caller.post('/v1/suppressions', { id: 'weekly', name: 'Weekly news' })
    await caller.post('/v1/suppressions/bare-id/entries', { addresses: ['other@example.org'] })
    expect(await read(pathFor('ada@example.org', 'weekly', outboxId))).toContain(
      'Stop messages of the list “Weekly news” from Zoe of Widgets to ada@example.org?',
    )
    for (const listId of ['bare-id', 'gone', GLOBAL_LIST])
      expect(await read(pathFor('ada@example.org', listId, outboxId))).toContain(
        'Stop messages from Zoe of Widgets to ada@example.org?',
      )
    expect(await read(pathFor('ada@example.org', 'weekly'))).toContain(`from ${tenant.name} to`)
  })

  test('unsubscribes by one click, urlencoded or multipart, with the same answer each time', async () => {
    const multipart = new FormData()
    multipart.set('List-Unsubscribe', 'One-Click')
    const path = pathFor('Ada@Example.org')
    const answers = [
      await post(path, ONE_CLICK, URLENCODED),
      await post(path, ONE_CLICK, URLENCODED),
      await post(path, multipart),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(answers.map(({ headers }) => headers.get('set-cookie') ?? headers.get('location'))).toEqual([
      null,
      null,
      null,
    ])
    const [first, ...others] = await Promise.all(answers.map(answer => answer.text()))
    expect(first).toContain('You are unsubscribed')
    expect(others).toEqual([first, first])
    const again = pathFor('grace@example.org')
    expect((await post(again, multipart)).status).toBe(200)
    expect(await listed()).toEqual([
      ['grace@example.org', 'unsubscribe'],
      ['ada@example.org', 'unsubscribe'],
    ])
    const { body } = await caller.get<{ items: ChangeEvent[] }>('/v1/changes')
    expect(body.items).toMatchObject([
      {
        type: 'suppression.created',
        accountId: null,
        data: {
          listId: 'news',
          address: 'ada@example.org',
          source: 'unsubscribe',
          outboxId: expect.any(String),
        },
      },
      { type: 'suppression.created', data: { address: 'grace@example.org' } },
    ])
  })

  test('lists nobody if what is posted does not ask for it', async () => {
    const path = pathFor('ada@example.org')
    const json = { 'content-type': 'application/json' }
    const broken = { 'content-type': 'multipart/form-data; boundary=x' }
    const posts: Array<[string, Record<string, string>?]> = [
      ['', URLENCODED],
      ['List-Unsubscribe=One-click', URLENCODED],
      ['List-Unsubscribe=', URLENCODED],
      ['Unsubscribe=One-Click', URLENCODED],
      [JSON.stringify({ 'List-Unsubscribe': 'One-Click' }), json],
      [`--y\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--y--`, broken],
      [ONE_CLICK],
    ]
    for (const [body, headers] of posts) {
      const answer = await post(path, body, headers)
      expect(answer.status).toBe(400)
      expect(await answer.text()).toContain('Nothing was changed')
    }
    expect((await post(path, `${ONE_CLICK}&x=${'x'.repeat(20_000)}`, URLENCODED)).status).toBe(413)
    expect(await listed()).toEqual([])
  })

  test('cannot be changed into one of another address, list or tenant', async () => {
    const token = pathFor('ada@example.org').slice('/u/'.length)
    const bytes = Buffer.from(token, 'base64url')
    const forged = Array.from(bytes, (_, at) => {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1
      return changed.toString('base64url')
    })
    const ofAnotherKind = links.tokens.make('open', bytes.subarray(0, -16))
    for (const [nth, other] of [...forged, `${token}A`, token.slice(0, -1), '', ofAnotherKind].entries()) {
      const headers = { ...URLENCODED, 'x-forwarded-for': `192.0.2.${nth}` }
      const answer = await post(`/u/${other}`, ONE_CLICK, headers)
      expect([nth, answer.status]).toEqual([nth, 404])
    }
    expect(await listed()).toEqual([])
    const { body } = await caller.get<{ items: object[] }>('/v1/suppressions')
    expect(body.items).toMatchObject([{ id: 'global', count: 0 }])
  })

  test('is not refused beside any number of unknown ones', { tags: ['postgres-16'] }, async () => {
    const headers = { ...URLENCODED, 'x-forwarded-for': '198.51.100.7' }
    const strange = await Promise.all(
      Array.from({ length: 40 }, () => post('/u/unknown', ONE_CLICK, headers)),
    )
    expect(new Set(strange.map(({ status }) => status))).toEqual(new Set([404, 429]))
    expect((await post(pathFor('ada@example.org'), ONE_CLICK, headers)).status).toBe(200)
  })

  test('escapes what it shows', async () => {
    await caller.post('/v1/suppressions', { id: 'news', name: `<img src=x onerror=alert(1)>"'&` })
    const text = await (await ask(pathFor(`o'neil&"b@example.org`))).text()
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;')
    expect(text).toContain('o&#39;neil&amp;&quot;b@example.org')
    expect(text).not.toMatch(/<img|<script|<a /)
  })

  test('works when its list was deleted, and for the global one', async () => {
    await caller.post('/v1/suppressions/news/entries', { addresses: ['max@example.org'] })
    await caller.delete('/v1/suppressions/news?withEntries=true')
    expect((await post(pathFor('ada@example.org'), ONE_CLICK, URLENCODED)).status).toBe(200)
    expect(await listed()).toEqual([['ada@example.org', 'unsubscribe']])
    expect((await post(pathFor('ada@example.org', 'global'), ONE_CLICK, URLENCODED)).status).toBe(200)
    expect(await listed('global')).toEqual([['ada@example.org', 'unsubscribe']])
  })
})

describe('the page in a browser', () => {
  const PHONE = { viewport: { width: 390, height: 844 } }

  test.each([
    ['light', { colorScheme: 'light' as const }, '#fdfcfa'],
    ['dark on a phone', { colorScheme: 'dark' as const, ...PHONE }, '#17171a'],
  ])('works by keyboard, %s, without scripts', async (_, options, ground) => {
    await caller.post('/v1/suppressions', { id: 'news', name: 'Monthly letter' })
    const address = `a.rather.long.address.of.somebody.${'x'.repeat(30)}@example.org`
    await using opened = await pages.open(pathFor(address), options)
    const { page, requested, violations } = opened
    await page.evaluate('document.fonts.ready')
    const shown = await page.evaluate('getComputedStyle(document.body).backgroundColor')
    expect(shown).toBe(rgb(ground))
    expect(await overflowOf(page)).toBe(0)
    const button = page.getByRole('button', { name: 'Unsubscribe' })
    expect(await isInWindow(page, button)).toBe(true)
    expect((await button.boundingBox())!.height).toBeGreaterThanOrEqual(44)
    await page.keyboard.press('Tab')
    expect(await hasFocus(page, button)).toBe(true)
    expect(await listed()).toEqual([])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor()
    expect(await page.textContent('main')).toContain('“Monthly letter”')
    expect(await overflowOf(page)).toBe(0)
    expect(await listed()).toEqual([[address, 'unsubscribe']])
    expect(requested.map(line => line.split(' ')[0])).toEqual(['GET', 'POST'])
    expect(violations).toEqual([])
    expect(await page.context().cookies()).toEqual([])
  })
})

function rgb(hex: string): string {
  const [red, green, blue] = [1, 3, 5].map(at => Number.parseInt(hex.slice(at, at + 2), 16))
  return `rgb(${red}, ${green}, ${blue})`
}
