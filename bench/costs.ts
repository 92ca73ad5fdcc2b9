import { randomBytes } from 'node:crypto'
import { openDatabase } from '../packages/server/src/database/pool.ts'
import { inTransaction } from '../packages/server/src/events/unit-of-work.ts'
import { createEndpoint } from '../packages/server/test/notifications/open-webhooks.ts'
import { startReceiver } from '../packages/server/test/notifications/receiver.ts'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import type { TestUser } from '../packages/server/test/servers/mail-server.ts'
import { openWorld } from '../packages/server/test/servers/world.ts'
import { waitUntil } from '../packages/server/test/wait-until.ts'
import { type Cost, inWords, type Meter, openMeter } from './costs-meter.ts'
import { short } from './figures.ts'
import { openGet, openPatch } from './http.ts'
import { wait } from './imapflow-process.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark, Report } from './row.ts'
import { type BenchService, startBenchService } from './service.ts'
import { startSmtpTaker } from './smtp-taker.ts'

/** Divides every number, for a quick look at whether this works. */
const DIVISOR = Number(process.env['WAXWING_BENCH_DIVISOR'] ?? 1)
const some = (count: number) => Math.max(2, Math.round(count / DIVISOR))
const ACCOUNTS = some(100)
const FEW_MESSAGES = 20
const MESSAGES = some(10_000)
const ARRIVALS = some(300)
const ARRIVALS_PER_SECOND = 10
const CHANGES = some(500)
const SENDS = some(500)
const ENDPOINTS = 4
const EVENTS = some(2_500)
const PAGES = some(1_000)
const IDLE_SECONDS = some(60)
const SETTLE_SECONDS = some(20)
const PATIENCE_SECONDS = 600
const ENV = {
  WAXWING_WEBHOOK_ALLOW: '127.0.0.1',
  WAXWING_WEBHOOK_ALLOW_HTTP: 'true',
}

type Dovecot = Awaited<ReturnType<typeof startDovecot>>

interface Bench {
  report: Report
  meter: Meter
  service: BenchService
  dovecot: Dovecot
}

export const costs: Benchmark = {
  name: 'costs',
  about:
    'Cost of an account, a message, a change, a send, an event and a delivery: statements, log and disk of the database, processor time of the service and of PostgreSQL.',
  async run(report) {
    await using dovecot = await startDovecot()
    await using meter = await openMeter()
    await using service = await startBenchService({
      env: { ...ENV, DATABASE_URL: meter.url, WAXWING_SECRET_KEY: randomBytes(32).toString('base64') },
    })
    const bench = { report, meter, service, dovecot }
    await wait(SETTLE_SECONDS)
    await idle(bench, 'a second without accounts')
    const accounts = await connectAccounts(bench)
    await wait(SETTLE_SECONDS)
    await idle(bench, `a second with ${ACCOUNTS} idle accounts`)
    await arrivals(bench, accounts)
    const id = await firstSync(bench, 'none')
    await firstSync(bench, 'full')
    await pages(bench, id)
    await changes(bench, id)
    await sends(bench)
    await deliveries(bench)
    const open = await meter.count(`pg_stat_activity where application_name like 'waxwing %'`)
    line(report, 'connections to the database', String(open))
  },
}

function line(report: Report, measure: string, result: string) {
  report({ measure, result, yardstick: '', ratio: null, target: '' })
}

function costLine(report: Report, measure: string, cost: Cost) {
  report({ measure, result: inWords(cost), yardstick: '', ratio: null, target: '', cpu: cost.cpu })
}

async function idle({ report, meter, service }: Bench, measure: string) {
  const cost = await meter.costOfEach(service, IDLE_SECONDS, () => wait(IDLE_SECONDS))
  costLine(report, measure, cost)
}

interface Connected {
  id: string
  user: TestUser
}

async function connectAccounts({ report, meter, service, dovecot }: Bench): Promise<Connected[]> {
  const users: TestUser[] = []
  for (let nth = 0; nth < ACCOUNTS; nth++) users.push(await makeFullMailbox(dovecot, FEW_MESSAGES, nth))
  const connected: Connected[] = []
  const cost = await meter.costOfEach(service, ACCOUNTS, async () => {
    for (const user of users) {
      const id = await service.connect(dovecot, user)
      await service.untilInitialized(id)
      connected.push({ id, user })
    }
  })
  costLine(report, `connecting an account of ${FEW_MESSAGES} messages`, cost)
  line(report, 'memory of an account, KB', short(cost.memoryMb * 1024))
  return connected
}

/** Messages come one by one, to one account after the other. */
async function arrivals({ report, meter, service, dovecot }: Bench, accounts: readonly Connected[]) {
  const announced = () => meter.count(`event where type = 'message.created'`)
  const before = await announced()
  const cost = await meter.costOfEach(service, ARRIVALS, async () => {
    for (let nth = 0; nth < ARRIVALS; nth++) {
      const { user } = accounts[nth % accounts.length]!
      await using world = await openWorld(dovecot, user)
      const raw = `Subject: Message ${nth}\r\nMessage-ID: <costs.${nth}@example.com>\r\n\r\nHello ${nth}\r\n`
      await world.deliver({ raw })
      await wait(1 / ARRIVALS_PER_SECOND)
    }
    const isThere = async () => (await announced()) >= before + ARRIVALS
    await waitUntil('all messages to be announced', isThere, PATIENCE_SECONDS)
  })
  costLine(report, 'a new message in a followed account, with its event', cost)
}

async function firstSync(
  { report, meter, service, dovecot }: Bench,
  bodyStorage: 'none' | 'full',
): Promise<string> {
  const user = await makeFullMailbox(dovecot, MESSAGES, 1_000)
  let id = ''
  const cost = await meter.costOfEach(service, MESSAGES, async () => {
    id = await service.connect(dovecot, user, { bodyStorage })
    await service.untilInitialized(id)
    if (bodyStorage === 'none') return
    const isStored = async () =>
      (await meter.count(
        `message_blob where account_id = '${id}' and message_id is not null and is_indexed`,
      )) >= (await meter.count(`message where account_id = '${id}' and not is_draft`))
    await waitUntil('all bodies to be stored', isStored, PATIENCE_SECONDS)
  })
  const extent = bodyStorage === 'full' ? ', with its body' : ''
  costLine(report, `a message of a first sync of ${short(MESSAGES)}${extent}`, cost)
  return id
}

async function pages({ report, meter, service }: Bench, accountId: string) {
  const get = openGet(service, `/v1/accounts/${accountId}/messages`)
  const cost = await meter.costOfEach(service, PAGES, async () => {
    for (let nth = 0; nth < PAGES; nth++) await get()
  })
  costLine(report, 'a page of 50 messages over HTTP', cost)
}

async function changes({ report, meter, service }: Bench, accountId: string) {
  const path = `/v1/accounts/${accountId}/messages`
  const { body } = await service.get<{ items: { id: string }[] }>(`${path}?limit=50`)
  using client = openPatch(service)
  const cost = await meter.costOfEach(service, CHANGES, async () => {
    for (let nth = 0; nth < CHANGES; nth++) {
      const { id } = body.items[nth % body.items.length]!
      await client.patch(`${path}/${id}`, { isRead: Math.floor(nth / body.items.length) % 2 === 0 })
    }
  })
  costLine(report, 'marking a message over HTTP, with its event and audit row', cost)
}

async function sends({ report, meter, service, dovecot }: Bench) {
  await using taker = await startSmtpTaker()
  const user = await dovecot.addUser()
  const id = await service.connect(dovecot, user, { smtpPort: taker.port })
  await service.untilInitialized(id)
  const mail = {
    to: [{ address: 'grace@bench.test' }],
    subject: 'A message of a benchmark',
    text: 'x'.repeat(3_000),
  }
  const cost = await meter.costOfEach(service, SENDS, async () => {
    for (let nth = 0; nth < SENDS; nth++) await service.post(`/v1/accounts/${id}/outbox`, mail)
    const isSent = async () => (await meter.count(`outbox where status = 'sent'`)) >= SENDS
    await waitUntil('all to be sent', isSent, PATIENCE_SECONDS)
  })
  costLine(report, 'a send, from its request to the answer of the SMTP server', cost)
}

/** Events by themselves, and then with endpoints that take them. */
async function deliveries({ report, meter, service }: Bench) {
  await using receiver = await startReceiver()
  await using database = openDatabase({ address: { url: meter.url }, applicationName: 'a benchmark' })
  const { db } = database
  const { id: tenantId } = await db.selectFrom('tenant').select('id').executeTakeFirstOrThrow()
  const announce = () =>
    inTransaction(db, tenantId, async unit => {
      const data = { email: 'ada@example.org', externalRef: 'x'.repeat(500) }
      for (let nth = 0; nth < EVENTS; nth++)
        unit.announce({ type: 'account.deleted', accountId: null, data } as const)
    })
  costLine(report, 'an event of 600 bytes', await meter.costOfEach(service, EVENTS, announce))
  for (let each = 0; each < ENDPOINTS; each++) await createEndpoint(service, `${receiver.url}/${each}`)
  const count = EVENTS * ENDPOINTS
  const cost = await meter.costOfEach(service, count, async () => {
    await announce()
    const isDone = async () =>
      (await meter.count('webhook_attempt where status_code between 200 and 299')) >= count
    await waitUntil('all to be delivered', isDone, PATIENCE_SECONDS)
  })
  costLine(report, `a delivery, with a ${ENDPOINTS}th of its event`, cost)
}
