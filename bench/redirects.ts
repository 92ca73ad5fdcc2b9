import { Agent, request } from 'node:http'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { parse } from '../packages/server/test/bodies/facts.ts'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { startSmtpSink } from '../packages/server/test/servers/smtp-sink.ts'
import { waitUntil } from '../packages/server/test/wait-until.ts'
import { meterCpu } from './cpu.ts'
import { median, percentile } from './figures.ts'
import type { Benchmark } from './row.ts'
import { startBenchService } from './service.ts'

const LINKS = 'http://links.example.com'
const LINK_COUNT = 20
const CALLERS = 16
const REQUESTS = 4000
const WARM_UP = 500
const SINGLE_REQUESTS = 300

export const redirects: Benchmark = {
  name: 'redirects',
  about: 'Clicks on the tracked links of a message, each by another client and so durably noted, over HTTP.',
  async run(report) {
    await using imap = await startDovecot()
    await using sink = await startSmtpSink()
    const env = { WAXWING_LINKS_URL: LINKS, WAXWING_TRUST_PROXY: '127.0.0.1' }
    await using service = await startBenchService({ env })
    const accountId = await service.connect(imap, await imap.addUser(), { smtpPort: sink.port })
    const html = Array.from(
      { length: LINK_COUNT },
      (_, nth) => `<a href="https://example.org/${nth}">x</a>`,
    ).join('')
    await service.post<OutboxEntry>(`/v1/accounts/${accountId}/outbox`, {
      to: [{ address: 'grace@example.org' }],
      html,
      trackClicks: true,
    })
    const [sent] = await waitUntil('the message to be sent', async () => {
      const accepted = await sink.accepted()
      return accepted.length > 0 && accepted
    })
    const tracked = parse(Buffer.from(sent?.content ?? '', 'latin1')).html ?? ''
    const paths = [...tracked.matchAll(/http:\/\/links\.example\.com(\/t\/c\/[^"]+)/g)].map(
      ([, path]) => path ?? '',
    )

    const click = openClicks(service.address, paths)
    await load(click, WARM_UP, CALLERS)
    const used = meterCpu()
    const startedAt = performance.now()
    const many = await load(click, REQUESTS, CALLERS)
    const perSecond = REQUESTS / ((performance.now() - startedAt) / 1000)
    const cpu = used(REQUESTS)
    const one = await load(click, SINGLE_REQUESTS, 1)
    const row = { yardstick: '', ratio: null, target: '' }
    report({ ...row, measure: `${CALLERS} callers, redirects per second`, result: perSecond.toFixed(0), cpu })
    report({ ...row, measure: `${CALLERS} callers, p95 in ms`, result: percentile(many, 0.95).toFixed(1) })
    report({
      ...row,
      measure: '1 caller, p50; p95 in ms',
      result: `${median(one).toFixed(2)}; ${percentile(one, 0.95).toFixed(2)}`,
    })
  },
}

/** Each click comes from another network, as the proxy in front says. Resolves to the milliseconds that it took. */
function openClicks(address: string, paths: readonly string[]): () => Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS })
  let nth = 0
  return () =>
    new Promise((resolve, reject) => {
      const number = nth++
      const startedAt = performance.now()
      const headers = {
        host: 'links.example.com',
        'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
        'x-forwarded-for': `${1 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}.1`,
      }
      const sent = request(address + paths[number % paths.length], { agent, headers }, answer => {
        answer.resume()
        answer.on('end', () =>
          answer.statusCode === 302
            ? resolve(performance.now() - startedAt)
            : reject(new Error(`${answer.statusCode}`)),
        )
      })
      sent.on('error', reject)
      sent.end()
    })
}

async function load(click: () => Promise<number>, requests: number, callers: number): Promise<number[]> {
  const times: number[] = []
  let left = requests
  const call = async () => {
    while (left-- > 0) times.push(await click())
  }
  await Promise.all(Array.from({ length: callers }, call))
  return times
}
