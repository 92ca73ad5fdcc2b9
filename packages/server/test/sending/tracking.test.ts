import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { NO_LIMITS } from '../../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../../src/features/tenancy/plans/store.ts'
import { setLinksOff } from '../../src/features/tenancy/tenants/store.ts'
import { assignPlan } from '../../src/features/accounts/plans/assign.ts'
import { launchChromium, openContext } from '../chromium.ts'
import { connectSender, openSendingApp, readEntry, send } from './open-sending.ts'
import { CHROMIUM, HTML, LINKS, useTracking } from './open-tracking.ts'
import { numberFor } from '../soak.ts'

const tracking = useTracking()

/** Of a hundred forged links each. */
const BATCHES = numberFor({ ci: 15, soak: 100 })

describe('a tracked message', () => {
  test('has links of its own for its recipients only', async () => {
    const { entry, html, links, pixel, trap } = await tracking.sendTracked()
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
    expect(await tracking.filedHtml(entry)).toBe(HTML)
  })

  test('is as in the settings, or in the request', async () => {
    const opens = await tracking.sendTracked({ trackClicks: false })
    expect(opens.entry).toMatchObject({ trackOpens: true, trackClicks: false })
    expect([opens.links, opens.trap, opens.pixel !== '']).toEqual([[], '', true])
    const none = await tracking.sendTracked({ trackClicks: false, trackOpens: false })
    expect(none.html).toBe(HTML)
    const text = await send(tracking.app, tracking.accountId, { text: 'https://example.org/' })
    expect(text).toMatchObject({ trackOpens: false, trackClicks: false })
  })

  test('cannot be asked for with very long HTML, which is sent untracked otherwise', async () => {
    const html = `<p>${'x'.repeat(512 * 1024)}</p>`
    const path = `/v1/accounts/${tracking.accountId}`
    const refused = { status: 400, body: { code: 'tracking_unsupported' } }
    const to = [{ address: 'grace@example.org' }]
    expect(await tracking.app.post(`${path}/outbox`, { to, html, trackClicks: true })).toMatchObject(refused)
    expect(await tracking.app.post(`${path}/outbox`, { to, html })).toMatchObject({
      status: 200,
      body: { trackOpens: false, trackClicks: false },
    })
    const entries = [{ to: to[0] }]
    expect(await tracking.app.post(`${path}/mail-merges`, { entries, html, trackOpens: true })).toMatchObject(
      refused,
    )
  })

  test('cannot be asked for without HTML', async () => {
    const path = `/v1/accounts/${tracking.accountId}/outbox`
    const body = { to: [{ address: 'grace@example.org' }], text: 'x', trackOpens: true }
    expect(await tracking.app.post(path, body)).toMatchObject({
      status: 400,
      body: { code: 'tracking_unsupported' },
    })
    expect(await tracking.app.post(path, { ...body, html: '<p>' })).toMatchObject({ status: 200 })
    expect(await tracking.app.post(path, { ...body, trackOpens: 'yes' })).toMatchObject({
      status: 400,
      body: { code: 'invalid_input' },
    })
  })
})

describe('links', () => {
  test('lead to the URLs of the message, and nowhere else', async () => {
    const { links, pixel } = await tracking.sendTracked()
    const answers = await Promise.all(links.map(link => tracking.ask(link)))
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
    const image = await tracking.ask(pixel)
    expect(image).toMatchObject({
      status: 200,
      headers: { 'content-type': 'image/gif', 'cache-control': 'no-store' },
    })
    expect(image.body).toMatch(/^GIF89a/)
    expect((await tracking.ask(`${links[0]}?url=https://evil.example`)).headers['location']).toBe(
      'https://example.org/one?a=1&b=2',
    )
  })

  test('that were changed are unknown', async () => {
    const { entry, links, pixel } = await tracking.sendTracked()
    const [link = ''] = links
    const other = await tracking.sendTracked()
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
      const { status, headers } = await tracking.ask(path, { from: `203.0.113.${index}` })
      expect({ path, status, location: headers['location'] }).toEqual({
        path,
        status: 404,
        location: undefined,
      })
    }
    await tracking.judge(entry)
    expect(await tracking.eventsOf(entry)).toEqual([])
  })

  test('of which thousands are forged give no event and lead nowhere', async () => {
    const before = await tracking.app.db.selectFrom('tracking_item').select('id').execute()
    const statuses = new Set<number>()
    for (let batch = 0; batch < BATCHES; batch++) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) => {
          const token = randomBytes(index % 2 === 0 ? 32 : 34).toString('base64url')
          const path = index % 2 === 0 ? `/t/o/${token}.gif` : `/t/c/${token}`
          return tracking.ask(path, { from: `192.0.2.${batch}` })
        }),
      )
      for (const { status } of answers) statuses.add(status)
    }
    expect([...statuses].toSorted()).toEqual([404, 429])
    expect(await tracking.app.db.selectFrom('tracking_item').select('id').execute()).toHaveLength(
      before.length,
    )
  })

  test('stay good while their client is refused for unknown ones', async () => {
    const { links } = await tracking.sendTracked()
    const from = '198.51.100.99'
    const statuses: number[] = []
    // 20 are answered in a minute, and the next minute may begin meanwhile.
    while (statuses.length <= 40 && !statuses.includes(429))
      statuses.push((await tracking.ask(`/t/c/x${statuses.length}`, { from })).status)
    expect(statuses.slice(20)).toContain(429)
    expect(new Set(statuses.slice(0, -1))).toEqual(new Set([404]))
    expect(await tracking.ask(links[0] ?? '', { from })).toMatchObject({ status: 302 })
  })

  test('are served on every host, and the host of the links serves nothing else', async () => {
    const { pixel } = await tracking.sendTracked()
    expect(await tracking.ask(pixel, { host: 'mail.example.com' })).toMatchObject({ status: 200 })
    for (const path of ['/v1/settings', '/docs', '/', '/health/ready', '/t/o/', '/t/'])
      expect(await tracking.ask(path)).toMatchObject({ status: 404 })
    await expect
      .poll(() => tracking.ask('/health/ready', { host: 'mail.example.com' }))
      .toMatchObject({ status: 200 })
  })
})

describe('while links of the tenant are off', () => {
  test('links in its messages answer 404, nothing is noted, and no new links are made', async () => {
    const { app, accountId } = tracking
    const { entry, links, pixel, trap } = await tracking.sendTracked()
    await setLinksOff(app.db, app.tenantId, true)
    try {
      for (const [nth, path] of [links[0] ?? '', pixel, trap].entries())
        expect(await tracking.ask(path, { from: `203.0.113.${100 + nth}` })).toMatchObject({ status: 404 })
      expect(await send(app, accountId, { html: HTML })).toMatchObject({
        trackOpens: false,
        trackClicks: false,
      })
      const asked = { to: [{ address: 'grace@example.org' }], html: HTML, trackClicks: true }
      expect(await app.post(`/v1/accounts/${accountId}/outbox`, asked)).toMatchObject({
        status: 400,
        body: { code: 'tracking_unsupported' },
      })
      const merge = { entries: [{ to: { address: 'grace@example.org' } }], html: HTML, trackOpens: true }
      expect(await app.post(`/v1/accounts/${accountId}/mail-merges`, merge)).toMatchObject({ status: 400 })
    } finally {
      await setLinksOff(app.db, app.tenantId, false)
    }
    expect(await tracking.ask(links[0] ?? '')).toMatchObject({ status: 302 })
    await tracking.judge(entry)
    expect(await tracking.eventsOf(entry)).toHaveLength(1)
  })

  test('links of other tenants lead on', async () => {
    const { app } = tracking
    const { links } = await tracking.sendTracked()
    const other = await app.createTenant('quiet')
    await setLinksOff(app.db, other.tenantId, true)
    expect(await tracking.ask(links[0] ?? '')).toMatchObject({ status: 302 })
  })
})

describe('in a browser', () => {
  test('a person who reads and clicks is one, and neither sees nor reaches the honeypot', async () => {
    const { entry, html } = await tracking.sendTracked()
    await using browsing = new AsyncDisposableStack()
    const browser = await launchChromium()
    browsing.defer(() => browser.close())
    const page = await (await openContext(browser, { userAgent: CHROMIUM })).newPage()
    await page.route('http://example.org/**', route => route.fulfill({ body: 'the second page' }))
    await page.setContent(html.replaceAll(LINKS, tracking.app.address))
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
    await tracking.judge(entry)
    expect(await tracking.trackingOf(entry)).toMatchObject({
      opens: { count: 1, machineCount: 0 },
      clicks: { count: 1, machineCount: 0 },
    })
  })
})

describe('the interface', () => {
  test('reads tracking of own entries only', async () => {
    const { entry } = await tracking.sendTracked()
    const path = `/v1/accounts/${tracking.accountId}/outbox`
    expect(await tracking.app.get(`${path}/${entry.id.toUpperCase()}/tracking`)).toMatchObject({
      status: 200,
    })
    for (const id of ['nonsense', tracking.accountId])
      expect(await tracking.app.get(`${path}/${id}/tracking`)).toMatchObject({
        status: 404,
        body: { code: 'send_not_found' },
      })
    const other = await tracking.app.createTenant('other')
    expect(await other.get(`${path}/${entry.id}/tracking`)).toMatchObject({
      body: { code: 'account_not_found' },
    })
    expect(await readEntry(tracking.app, entry)).toMatchObject({ trackOpens: true })
  })
})

describe('without the module', () => {
  test('nothing is tracked by default, and what is asked for is refused', async () => {
    await using sending = await openSendingApp({ app: { config: { linksUrl: LINKS } } })
    const { app } = sending
    const id = await connectSender(app, sending, { settings: { trackOpens: true, trackClicks: true } })
    const limits = { ...NO_LIMITS, modules: ['calendar', 'contacts'] as const }
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
