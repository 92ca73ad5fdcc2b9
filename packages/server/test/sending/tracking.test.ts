import { randomBytes } from 'node:crypto'
import { Agent, request as requestHttp } from 'node:http'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { SendTracking } from '@waxwing/contract/sending/tracking.ts'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPlan } from '../../src/features/tenancy/plans/store.ts'
import { assignPlan } from '../../src/features/accounts/plans/assign.ts'
import { purgeSending } from '../../src/features/sending/purge.ts'
import { parse } from '../bodies/facts.ts'
import { requireChromium } from '../servers/install.ts'
import { type World, openWorld } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import {
  connectSender,
  openSendingApp,
  readEntry,
  send,
  type SendingApp,
  waitForStatus,
} from './open-sending.ts'

const LINKS = 'https://links.example.com'
const HTML =
  '<html>\n<body>\n<p class=x>Hello <a href="https://example.org/one?a=1&amp;b=2">one</a>,\n' +
  "<A HREF='http://example.org/two'>two</A> <a href=https://example.org/three>3</a>\n</body></html>\n"
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'
const CHROMIUM = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/143.0.0.0 Safari/537.36'

const agent = new Agent({ keepAlive: true, maxSockets: 50 })

let opened: SendingApp
let accountId: string
let world: World

beforeAll(async () => {
  opened = await openSendingApp({ app: { config: { linksUrl: LINKS, trustProxy: ['127.0.0.1'] } } })
  const user = await opened.imap.addUser()
  accountId = await connectSender(opened.app, opened, {
    user,
    appendSent: true,
    settings: { trackOpens: true, trackClicks: true, trackingHoneypot: true },
  })
  world = await openWorld(opened.imap, user)
})
afterAll(async () => {
  agent.destroy()
  await world?.[Symbol.asyncDispose]()
  await opened?.[Symbol.asyncDispose]()
})

interface Asking {
  userAgent?: string
  method?: string
  host?: string
  from?: string
}

/** Requests a link as a mail program does, over the proxy of the links. */
function ask(
  path: string,
  { userAgent = BROWSER, method = 'GET', host = 'links.example.com', from = '198.51.100.7' }: Asking = {},
) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: string }>(
    (resolve, reject) => {
      const headers = {
        host,
        'x-forwarded-for': from,
        ...(userAgent === '' ? {} : { 'user-agent': userAgent }),
      }
      const sent = requestHttp(opened.app.address + path, { method, headers, agent }, answer => {
        let body = ''
        answer.setEncoding('latin1').on('data', text => (body += text))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }))
      })
      sent.on('error', reject)
      sent.end()
    },
  )
}

/** A send that arrived, with the paths of its links. */
interface Arrived {
  entry: OutboxEntry
  html: string
  pixel: string
  links: string[]
  trap: string
}

async function sendTracked(change: Record<string, unknown> = {}): Promise<Arrived> {
  const entry = await send(opened.app, accountId, { html: HTML, text: null, ...change })
  await waitForStatus(opened.app, entry, 'sent')
  return { entry, ...(await readArrived(entry)) }
}

async function readArrived(entry: OutboxEntry): Promise<Omit<Arrived, 'entry'>> {
  const accepted = await opened.sink.accepted()
  const found = accepted.find(({ messageId }) => messageId === entry.internetMessageId)
  const html = parse(Buffer.from(found?.content ?? '', 'latin1')).html ?? ''
  const paths = [...html.matchAll(/https:\/\/links\.example\.com(\/t\/[^"'\s>]+)/g)].map(
    ([, path]) => path ?? '',
  )
  const trap = /\/t\/c\/[^"]+(?=" rel="nofollow")/.exec(html)?.[0] ?? ''
  return {
    html,
    pixel: paths.find(path => path.endsWith('.gif')) ?? '',
    links: paths.filter(path => path.startsWith('/t/c/') && path !== trap),
    trap,
  }
}

/** Lets time pass for what came of a send, and has it judged. */
async function judge({ id }: OutboxEntry, seconds = 11): Promise<void> {
  const { database, db } = opened.app
  await database.pool.query(
    'update tracking_item set occurred_at = occurred_at - make_interval(secs => $2) where outbox_id = $1',
    [id, seconds],
  )
  await database.pool.query(`select pg_notify('waxwing_tracking', '')`)
  await waitUntil('everything to be judged', async () => {
    const open = await db
      .selectFrom('tracking_item')
      .select('id')
      .where('outbox_id', '=', id)
      .where('is_machine', 'is', null)
      .execute()
    return open.length === 0
  })
}

async function trackingOf({ id }: OutboxEntry): Promise<SendTracking> {
  return (await opened.app.get<SendTracking>(`/v1/accounts/${accountId}/outbox/${id}/tracking`)).body
}

interface Tracked {
  type: string
  data: Record<string, unknown>
}

async function eventsOf({ id }: OutboxEntry): Promise<Tracked[]> {
  const { rows } = await opened.app.database.pool.query<Tracked>(
    `select type, data from event where type in ('message.opened', 'message.clicked') and data ->> 'outboxId' = $1
     order by id`,
    [id],
  )
  return rows
}

/** The HTML of the message as it was filed. */
async function filedHtml(entry: OutboxEntry): Promise<string | null> {
  const raw = await waitUntil('the filed copy', async () => {
    await world.witness.command('SELECT Sent')
    const found = await world.witness.command(`UID SEARCH HEADER Message-ID "${entry.internetMessageId}"`)
    const uid = found.untagged.flat().at(-1)
    if (typeof uid !== 'string' || !/^\d+$/.test(uid)) return null
    const { untagged } = await world.witness.command(`UID FETCH ${uid} (BODY.PEEK[])`)
    const values = untagged.flat(4) as unknown[]
    return values.find((value): value is Buffer => Buffer.isBuffer(value) && value.includes('MIME-Version'))
  })
  return parse(raw).html
}

describe('a tracked message', () => {
  test('has links of its own for its recipients only', async () => {
    const { entry, html, links, pixel, trap } = await sendTracked()
    expect(entry).toMatchObject({ trackOpens: true, trackClicks: true })
    expect(links).toHaveLength(3)
    const untracked = html
      .replace(/<a href="[^"]*" rel="nofollow"[^>]*><\/a>/, '')
      .replace(/<img [^>]*>/, '')
      .replace(LINKS + links[0], 'https://example.org/one?a=1&amp;b=2')
      .replace(LINKS + links[1], 'http://example.org/two')
      .replace(LINKS + links[2], 'https://example.org/three')
    expect(untracked).toBe(HTML)
    expect(html).toMatch(/<\/a><img [^>]*><\/body>/)
    expect([pixel, trap]).toEqual([
      expect.stringMatching(/^\/t\/o\/[\w-]+\.gif$/),
      expect.stringMatching(/^\/t\/c\/[\w-]+$/),
    ])
    expect(await filedHtml(entry)).toBe(HTML)
  })

  test('is what the settings, or the request, say', async () => {
    const opens = await sendTracked({ trackClicks: false })
    expect(opens.entry).toMatchObject({ trackOpens: true, trackClicks: false })
    expect([opens.links, opens.trap, opens.pixel !== '']).toEqual([[], '', true])
    const none = await sendTracked({ trackClicks: false, trackOpens: false })
    expect(none.html).toBe(HTML)
    const text = await send(opened.app, accountId, { text: 'https://example.org/' })
    expect(text).toMatchObject({ trackOpens: false, trackClicks: false })
  })

  test('cannot be asked for with very long HTML, which is sent untracked otherwise', async () => {
    const html = `<p>${'x'.repeat(512 * 1024)}</p>`
    const path = `/v1/accounts/${accountId}`
    const refused = { status: 400, body: { code: 'tracking_unsupported' } }
    const to = [{ address: 'grace@example.org' }]
    expect(await opened.app.post(`${path}/outbox`, { to, html, trackClicks: true })).toMatchObject(refused)
    expect(await opened.app.post(`${path}/outbox`, { to, html })).toMatchObject({
      status: 200,
      body: { trackOpens: false, trackClicks: false },
    })
    const entries = [{ to: to[0] }]
    expect(await opened.app.post(`${path}/mail-merges`, { entries, html, trackOpens: true })).toMatchObject(
      refused,
    )
  })

  test('cannot be asked for without HTML', async () => {
    const path = `/v1/accounts/${accountId}/outbox`
    const body = { to: [{ address: 'grace@example.org' }], text: 'x', trackOpens: true }
    expect(await opened.app.post(path, body)).toMatchObject({
      status: 400,
      body: { code: 'tracking_unsupported' },
    })
    expect(await opened.app.post(path, { ...body, html: '<p>' })).toMatchObject({ status: 200 })
    expect(await opened.app.post(path, { ...body, trackOpens: 'yes' })).toMatchObject({
      status: 400,
      body: { code: 'invalid_input' },
    })
  })
})

describe('links', () => {
  test('lead to where the message says, and nowhere else', async () => {
    const { links, pixel } = await sendTracked()
    const answers = await Promise.all(links.map(link => ask(link)))
    expect(answers.map(({ status, headers }) => [status, headers['location']])).toEqual([
      [302, 'https://example.org/one?a=1&b=2'],
      [302, 'http://example.org/two'],
      [302, 'https://example.org/three'],
    ])
    expect(answers[0]?.headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
    expect(answers[0]?.headers['set-cookie']).toBeUndefined()
    const image = await ask(pixel)
    expect(image).toMatchObject({
      status: 200,
      headers: { 'content-type': 'image/gif', 'cache-control': 'no-store' },
    })
    expect(image.body).toMatch(/^GIF89a/)
    expect((await ask(`${links[0]}?url=https://evil.example`)).headers['location']).toBe(
      'https://example.org/one?a=1&b=2',
    )
  })

  test('that were changed are unknown', async () => {
    const { entry, links, pixel } = await sendTracked()
    const [link = ''] = links
    const other = await sendTracked()
    const swapped = link.slice(0, 20) + other.links[0]!.slice(20)
    const paths = [
      `${link}A`,
      link.slice(0, -1),
      link.slice(0, -1) + (link.endsWith('A') ? 'B' : 'A'),
      swapped,
      `${link}.gif`,
      pixel.replace('.gif', ''),
      link.replace('/t/c/', '/t/o/') + '.gif',
      pixel.replace('/t/o/', '/t/c/').replace('.gif', ''),
    ]
    for (const [index, path] of paths.entries()) {
      const { status, headers } = await ask(path, { from: `203.0.113.${index}` })
      expect({ path, status, location: headers['location'] }).toEqual({
        path,
        status: 404,
        location: undefined,
      })
    }
    await judge(entry)
    expect(await eventsOf(entry)).toEqual([])
  })

  test('of which ten thousand are forged give no event and lead nowhere', async () => {
    const before = await opened.app.db.selectFrom('tracking_item').select('id').execute()
    const statuses = new Set<number>()
    for (let batch = 0; batch < 100; batch++) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) => {
          const token = randomBytes(index % 2 === 0 ? 32 : 34).toString('base64url')
          const path = index % 2 === 0 ? `/t/o/${token}.gif` : `/t/c/${token}`
          return ask(path, { from: `192.0.2.${batch}` })
        }),
      )
      for (const { status } of answers) statuses.add(status)
    }
    expect([...statuses].toSorted()).toEqual([404, 429])
    expect(await opened.app.db.selectFrom('tracking_item').select('id').execute()).toHaveLength(before.length)
  })

  test('stay good while their client is refused for unknown ones', async () => {
    const { links } = await sendTracked()
    for (let tried = 0; tried < 25; tried++) await ask(`/t/c/x${tried}`, { from: '198.51.100.99' })
    expect(await ask('/t/c/x', { from: '198.51.100.99' })).toMatchObject({ status: 429 })
    expect(await ask(links[0] ?? '', { from: '198.51.100.99' })).toMatchObject({ status: 302 })
  })

  test('are served on every host, and the host of the links serves nothing else', async () => {
    const { pixel } = await sendTracked()
    expect(await ask(pixel, { host: 'mail.example.com' })).toMatchObject({ status: 200 })
    for (const path of ['/v1/settings', '/docs', '/', '/health/ready', '/t/o/', '/t/'])
      expect(await ask(path)).toMatchObject({ status: 404 })
    expect(await ask('/health/ready', { host: 'mail.example.com' })).toMatchObject({ status: 200 })
  })
})

describe('opens and clicks', () => {
  test('of a person are counted and announced', async () => {
    const { entry, links, pixel } = await sendTracked({ reference: 'ticket-9' })
    await ask(pixel)
    await ask(links[1] ?? '')
    expect(await trackingOf(entry)).toMatchObject({ opens: { count: 0 }, items: [] })
    await judge(entry)
    const facts = {
      outboxId: entry.id,
      messageId: null,
      reference: 'ticket-9',
      recipient: 'grace@example.org',
      ip: null,
      userAgent: BROWSER,
    }
    const person = { isMachine: false, machineReason: null }
    expect((await eventsOf(entry)).map(({ type, data }) => ({ type, data }))).toEqual([
      { type: 'message.opened', data: { ...facts, ...person } },
      { type: 'message.clicked', data: { ...facts, ...person, url: 'http://example.org/two' } },
    ])
    expect(await trackingOf(entry)).toMatchObject({
      trackOpens: true,
      trackClicks: true,
      opens: { count: 1, machineCount: 0 },
      clicks: {
        count: 1,
        machineCount: 0,
        links: [
          { url: 'http://example.org/two', count: 1 },
          { url: 'https://example.org/one?a=1&b=2', count: 0 },
          { url: 'https://example.org/three', count: 0 },
        ],
      },
      items: [
        { type: 'click', url: 'http://example.org/two', isMachine: false, ip: null, userAgent: BROWSER },
        { type: 'open', url: null, isMachine: false },
      ],
    })
  })

  test('by HEAD or another method change nothing', async () => {
    const { entry, links, pixel } = await sendTracked()
    expect(await ask(pixel, { method: 'HEAD' })).toMatchObject({ status: 200, body: '' })
    expect(await ask(links[0] ?? '', { method: 'HEAD' })).toMatchObject({ status: 302 })
    for (const method of ['POST', 'PUT', 'OPTIONS', 'DELETE'])
      expect(await ask(links[0] ?? '', { method })).toMatchObject({ status: 405 })
    await judge(entry)
    expect(await eventsOf(entry)).toEqual([])
    expect(await trackingOf(entry)).toMatchObject({ items: [], opens: { machineCount: 0 } })
  })

  test('that a client repeats count once, and later again', async () => {
    const { entry, links } = await sendTracked()
    const [link = ''] = links
    await Promise.all(Array.from({ length: 8 }, () => ask(link)))
    await ask(link, { from: '198.51.100.200' })
    await ask(link, { from: '203.0.113.9' })
    await judge(entry, 40)
    expect((await trackingOf(entry)).clicks.count).toBe(2)
    expect(await eventsOf(entry)).toHaveLength(2)
  })

  test('of a scanner mark everything that came with them', async () => {
    const { entry, links, pixel, trap } = await sendTracked()
    await ask(pixel)
    expect(await ask(trap, { userAgent: CHROMIUM, from: '203.0.113.1' })).toMatchObject({ status: 204 })
    await ask(links[0] ?? '', { userAgent: CHROMIUM, from: '203.0.113.1' })
    await judge(entry)
    const marks = (await eventsOf(entry)).map(({ type, data }) => [
      type,
      data['isMachine'],
      data['machineReason'],
    ])
    expect(marks).toEqual([
      ['message.opened', true, 'honeypot'],
      ['message.clicked', true, 'honeypot'],
    ])
    expect(await trackingOf(entry)).toMatchObject({
      opens: { count: 0, machineCount: 1, firstAt: null },
      clicks: { count: 0, machineCount: 1 },
    })
    await ask(links[0] ?? '')
    await judge(entry)
    expect(await trackingOf(entry)).toMatchObject({ clicks: { count: 1, machineCount: 1 } })
  })

  test('beyond the limit are counted, and neither kept nor announced', async () => {
    const { entry, links } = await sendTracked()
    await opened.app.database.pool.query('update tracked_send set items = 999 where outbox_id = $1', [
      entry.id,
    ])
    for (const octet of [1, 2, 3]) await ask(links[0] ?? '', { from: `203.0.${octet}.1` })
    await judge(entry)
    expect((await trackingOf(entry)).clicks.count).toBe(3)
    expect(await eventsOf(entry)).toHaveLength(1)
    expect((await trackingOf(entry)).items).toHaveLength(1)
  })

  test('of a crowd within seconds are judged, and those of others beside them', async () => {
    const { entry, pixel } = await sendTracked()
    const other = await sendTracked()
    const hosts = Array.from({ length: 1500 }, (_, index) => `2001:db8:${index.toString(16)}::1`)
    await Promise.all(hosts.map(from => ask(pixel, { from })))
    await ask(other.links[0] ?? '')
    await Promise.all([judge(entry), judge(other.entry)])
    expect((await trackingOf(entry)).opens.count).toBe(1500)
    expect(await eventsOf(entry)).toHaveLength(1000)
    expect((await trackingOf(other.entry)).clicks.count).toBe(1)
  })

  test('beyond ten thousand that wait are answered and not noted', async () => {
    const { entry, pixel } = await sendTracked()
    const { pool } = opened.app.database
    await pool.query(
      `insert into tracking_item (id, outbox_id, account_id, tenant_id, kind, client, user_agent, occurred_at)
       select gen_random_uuid(), $1, account.id, account.tenant_id, 'open', int8send(n), '', clock_timestamp()
       from account, generate_series(1, 9999) as n where account.id = $2`,
      [entry.id, accountId],
    )
    expect((await ask(pixel)).status).toBe(200)
    expect((await ask(pixel, { from: '203.0.113.9' })).status).toBe(200)
    await judge(entry)
    expect((await trackingOf(entry)).opens.count).toBe(10_000)
  })

  test('tell no recipient where there are several', async () => {
    const { entry, pixel } = await sendTracked({ cc: [{ address: 'ada@example.org' }] })
    await ask(pixel)
    await judge(entry)
    expect((await eventsOf(entry))[0]?.data['recipient']).toBeNull()
  })

  test('of which nothing is kept in the clear: neither links nor addresses', async () => {
    const { entry, links } = await sendTracked()
    await ask(links[0] ?? '', { from: '198.51.100.77' })
    const { rows } = await opened.app.database.pool.query(
      `select (select row_to_json(sent)::text from tracked_send as sent where outbox_id = $1) ||
        (select string_agg(row_to_json(item)::text, '') from tracking_item as item where outbox_id = $1) as text`,
      [entry.id],
    )
    expect(rows[0].text).toContain(BROWSER)
    expect(rows[0].text).not.toMatch(/example\.org|198\.51/)
  })
})

describe('in a browser', () => {
  test('a person who reads and clicks is one, and neither sees nor reaches the honeypot', async () => {
    const { entry, html } = await sendTracked()
    await using browsing = new AsyncDisposableStack()
    const args = ['--no-sandbox', '--disable-dev-shm-usage']
    const browser = await chromium.launch({ executablePath: requireChromium(), args })
    browsing.defer(() => browser.close())
    const page = await (await browser.newContext({ userAgent: CHROMIUM })).newPage()
    await page.route('http://example.org/**', route => route.fulfill({ body: 'the second page' }))
    await page.setContent(html.replaceAll(LINKS, opened.app.address))
    const shown = page.locator('a:visible')
    expect(await shown.allTextContents()).toEqual(['one', 'two', '3'])
    const focused: string[] = []
    for (let tabs = 0; tabs < 4; tabs++) {
      await page.keyboard.press('Tab')
      focused.push(await page.evaluate('document.activeElement.textContent.trim()'))
    }
    expect(focused.slice(0, 3)).toEqual(['one', 'two', '3'])
    expect(focused).not.toContain('')
    await page.getByText('two').click()
    await page.waitForURL('http://example.org/two')
    expect(await page.evaluate('document.referrer')).toBe('')
    await judge(entry)
    expect(await trackingOf(entry)).toMatchObject({
      opens: { count: 1, machineCount: 0 },
      clicks: { count: 1, machineCount: 0 },
    })
  })
})

describe('the interface', () => {
  test('reads tracking of own entries only', async () => {
    const { entry } = await sendTracked()
    const path = `/v1/accounts/${accountId}/outbox`
    expect(await opened.app.get(`${path}/${entry.id.toUpperCase()}/tracking`)).toMatchObject({ status: 200 })
    for (const id of ['nonsense', accountId])
      expect(await opened.app.get(`${path}/${id}/tracking`)).toMatchObject({
        status: 404,
        body: { code: 'send_not_found' },
      })
    const other = await opened.app.createTenant('other')
    expect(await other.get(`${path}/${entry.id}/tracking`)).toMatchObject({
      body: { code: 'account_not_found' },
    })
    expect(await readEntry(opened.app, entry)).toMatchObject({ trackOpens: true })
  })
})

describe('without the module', () => {
  test('nothing is tracked by default, and what is asked for is refused', async () => {
    await using sending = await openSendingApp({ app: { config: { linksUrl: LINKS } } })
    const { app } = sending
    const id = await connectSender(app, sending, { settings: { trackOpens: true, trackClicks: true } })
    const limits = {
      apiCallsPerMinute: null,
      apiCallsPerMinutePerKey: null,
      maxAccounts: null,
      bodyStorageAllowed: true,
      storageBytes: null,
      sendsPerDay: null,
      modules: ['calendar', 'contacts'] as const,
    }
    await assignPlan(app.db, app.tenantId, await createPlan(app.db, 'small', limits))
    expect(await send(app, id, { html: HTML })).toMatchObject({ trackOpens: false, trackClicks: false })
    const asked = { to: [{ address: 'grace@example.org' }], html: HTML, trackClicks: true }
    expect(await app.post(`/v1/accounts/${id}/outbox`, asked)).toMatchObject({
      status: 403,
      body: { code: 'plan_module_unavailable' },
    })
  })
})

describe('without a public address', () => {
  test('tracking that is asked for is refused', async () => {
    await using sending = await openSendingApp()
    const { app } = sending
    const id = await connectSender(app, sending, { settings: { trackOpens: true } })
    expect(await send(app, id, { html: HTML })).toMatchObject({ trackOpens: false })
    const asked = { to: [{ address: 'grace@example.org' }], html: HTML, trackOpens: true }
    expect(await app.post(`/v1/accounts/${id}/outbox`, asked)).toMatchObject({
      status: 400,
      body: { code: 'tracking_unsupported' },
    })
  })
})

describe('once the entry is gone', () => {
  test('links lead on, nothing is noted, and the purge of the account ends them', async () => {
    const { entry, links, pixel } = await sendTracked()
    await ask(pixel)
    const { db, database } = opened.app
    await database.pool.query('delete from outbox where id = $1', [entry.id])
    expect(await ask(links[2] ?? '', { from: '203.0.113.50' })).toMatchObject({ status: 302 })
    await judge(entry)
    const kept = () => db.selectFrom('tracking_item').select('id').where('outbox_id', '=', entry.id).execute()
    await waitUntil('what was kept to be deleted', async () => (await kept()).length === 0)
    await purgeSending(db, accountId, new AbortController().signal)
    expect(await ask(links[2] ?? '')).toMatchObject({ status: 404 })
    expect(await ask(pixel)).toMatchObject({ status: 404 })
    expect(
      await db.selectFrom('tracked_send').select('outbox_id').where('account_id', '=', accountId).execute(),
    ).toEqual([])
  })
})
