import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { Pool } from 'undici'
import { openDatabase } from '../packages/server/src/database/pool.ts'
import { inTransaction } from '../packages/server/src/events/unit-of-work.ts'
import { createEndpoint } from '../packages/server/test/notifications/open-webhooks.ts'
import { startReceiver } from '../packages/server/test/notifications/receiver.ts'
import { startChaosProxy } from '../packages/server/test/servers/chaos-proxy.ts'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { openWorld } from '../packages/server/test/servers/world.ts'
import { meterCpu } from './cpu.ts'
import { percentile, short } from './figures.ts'
import { wait } from './imapflow-process.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark, Report } from './row.ts'
import { openItsDatabase } from './same-sql.ts'
import { startBenchService } from './service.ts'

const ENDPOINTS = 4
const EVENTS = 5_000
const WEBHOOKS = ENDPOINTS * EVENTS
const CONNECTIONS = 200
const MESSAGES = 50
const MILLISECONDS = 1_000
const ALLOW = { WAXWING_WEBHOOK_ALLOW: '127.0.0.1', WAXWING_WEBHOOK_ALLOW_HTTP: 'true' }

export const webhooks: Benchmark = {
  name: 'webhooks',
  about: 'Webhooks per second, compared with undici alone; and from the notice of a message to its webhook.',
  async run(report) {
    await measureRate(report)
    await measureDelay(report)
  },
}

async function measureRate(report: Report): Promise<void> {
  await using receiver = await startReceiverProcess()
  const alone = await postAlone(receiver.url)
  await using service = await startBenchService({ env: ALLOW })
  await using its = await openItsDatabase(service.folder.path)
  await using database = openDatabase({ address: its.address, applicationName: 'waxwing bench' })
  const { db } = database
  for (let each = 0; each < ENDPOINTS; each++) await createEndpoint(service, `${receiver.url}/${each}`)
  const { rows } = await sql<{ id: string }>`select id from tenant`.execute(db)
  const before = await receiver.count()
  const used = meterCpu()
  const startedAt = performance.now()
  await inTransaction(db, rows[0]!.id, async unit => {
    for (let number = 0; number < EVENTS; number++) unit.announce(someEvent(number))
  })
  while ((await receiver.count()) < before + WEBHOOKS) await wait(0.02)
  const perSecond = WEBHOOKS / ((performance.now() - startedAt) / MILLISECONDS)
  const cpu = used(WEBHOOKS)
  report({
    measure: 'webhooks per second',
    result: short(perSecond),
    yardstick: `undici alone ${short(alone)}`,
    ratio: perSecond / alone,
    target: '≥ 0.6, ≥ 1,000/s',
    cpu,
  })
}

function someEvent(number: number) {
  const data = { email: `${number}@example.org`, externalRef: 'x'.repeat(500) }
  return { type: 'account.deleted', accountId: null, data } as const
}

/** Posts as many bodies of the same size. @returns how many per second */
async function postAlone(url: string): Promise<number> {
  const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 })
  const body = JSON.stringify({ id: '1', createdAt: new Date().toISOString(), ...someEvent(1) })
  const headers = { 'content-type': 'application/json' }
  let left = WEBHOOKS
  const startedAt = performance.now()
  const post = async () => {
    while (left-- > 0) {
      const answer = await pool.request({ path: '/', method: 'POST', headers, body })
      await answer.body.dump()
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, post))
  const perSecond = WEBHOOKS / ((performance.now() - startedAt) / MILLISECONDS)
  await pool.close()
  return perSecond
}

async function startReceiverProcess() {
  const program = fileURLToPath(new URL('receiver-process.ts', import.meta.url))
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const url = `http://127.0.0.1:${line.toString().trim()}`
  return {
    url,
    count: async () => Number(await (await fetch(`${url}/count`)).text()),
    async [Symbol.asyncDispose]() {
      child.kill()
      await once(child, 'exit')
    },
  }
}

async function measureDelay(report: Report): Promise<void> {
  await using server = await startDovecot()
  await using receiver = await startReceiver()
  const user = await makeFullMailbox(server, 1_000)
  let noticedAt = 0
  await using wire = await startChaosProxy(server, {
    rewrite(line) {
      if (/^\* \d+ EXISTS$/.test(line)) noticedAt = performance.now()
      return line
    },
  })
  await using service = await startBenchService({ env: ALLOW })
  await service.untilInitialized(await service.connect(server, user, { port: wire.port }))
  await createEndpoint(service, receiver.url, { eventTypes: ['message.created'] })
  await using world = await openWorld(server, user)
  await wait(5)
  const tookMs: number[] = []
  for (let number = 0; number < MESSAGES; number++) {
    // Varies the interval, so that it is not in step with anything that happens every second.
    await wait(0.3 + (number % 10) * 0.077)
    const arrived = new Promise<void>(resolve => {
      receiver.tempers['/'] = response => void response.writeHead(204).end(resolve)
    })
    await world.deliver({
      raw: `Subject: Now ${number}\r\nMessage-ID: <now.${number}@example.com>\r\n\r\nHello\r\n`,
    })
    await arrived
    tookMs.push(performance.now() - noticedAt)
  }
  const [p50, p95] = [percentile(tookMs, 0.5), percentile(tookMs, 0.95)]
  const delay = { yardstick: '', ratio: null }
  report({ measure: 'notice to webhook, p50 in ms', result: short(p50), ...delay, target: '≤ 25' })
  report({ measure: 'notice to webhook, p95 in ms', result: short(p95), ...delay, target: '≤ 80' })
}
