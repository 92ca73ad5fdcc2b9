import { randomUUID } from 'node:crypto'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { Pool } from 'pg'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { type Cpu, medianCpu, meterCpu } from './cpu.ts'
import { median, percentile, short } from './figures.ts'
import { openPost } from './http.ts'
import { wait } from './imapflow-process.ts'
import { runNodemailer } from './nodemailer-process.ts'
import { compareLoad } from './load.ts'
import type { Benchmark, Report } from './row.ts'
import { openItsDatabase } from './same-sql.ts'
import { startBenchService } from './service.ts'
import { startSmtpTaker } from './smtp-taker.ts'

const ACCOUNTS = 5
const CONNECTIONS = 10
const MESSAGES = 1000
const RUNS = 3
/** Time in which all messages of a run are queued; then all are due at once. */
const QUEUE_SECONDS_MAX = 30
const DUE = 100
const DUE_INTERVAL_MS = 100
const TEXT = 'The quick brown fox jumps over the lazy dog near the bank of the river.\n'.repeat(40)

type Client = ReturnType<typeof openPost>
type Taker = Awaited<ReturnType<typeof startSmtpTaker>>

export const sends: Benchmark = {
  name: 'sends',
  about:
    'Messages sent to a local SMTP server by five accounts over 10 connections, and accepting them over HTTP; compared with nodemailer or a flushed file, each with its commits.',
  async run(report) {
    await using imap = await startDovecot()
    await using taker = await startSmtpTaker()
    await using service = await startBenchService({ connectionsPerHost: CONNECTIONS })
    const accountIds: string[] = []
    for (let nth = 0; nth < ACCOUNTS; nth++) {
      const user = await imap.addUser()
      accountIds.push(await service.connect(imap, user, { smtpPort: taker.port }))
    }
    for (const id of accountIds) await service.untilInitialized(id)
    await using database = await openItsDatabase(service.folder.path)

    using client = openPost(service)
    await measureAccepting(client, accountIds, database.pool, report)
    await measureSending(client, accountIds, { taker, address: database.address }, report)
    await measureDue(client, accountIds, taker, report)
  },
}

/** Queues a message that is due at this time. */
function post(client: Client, accountId: string, sendAt: number): Promise<OutboxEntry> {
  return client.post<OutboxEntry>(`/v1/accounts/${accountId}/outbox`, {
    to: [{ address: 'grace@bench.test', name: 'Grace Hopper' }],
    subject: 'A message of a benchmark',
    text: TEXT,
    sendAt: new Date(sendAt).toISOString(),
  })
}

async function measureAccepting(client: Client, accountIds: readonly string[], pool: Pool, report: Report) {
  // Due long after the benchmark, so that nothing is sent meanwhile.
  const later = Date.now() + 7 * 86_400_000
  let nth = 0
  const http = () => post(client, accountIds[nth++ % ACCOUNTS] ?? '', later)
  const folder = await mkdtemp(join(tmpdir(), 'waxwing-bench-'))
  await pool.query('create table bench_accept (id uuid primary key, at timestamptz not null default now())')
  const flushed = async () => {
    const id = randomUUID()
    const file = await open(join(folder, id), 'wx')
    await file.writeFile(TEXT)
    await file.sync()
    await file.close()
    await pool.query({ name: 'accept', text: 'insert into bench_accept (id) values ($1)', values: [id] })
  }
  for (const callers of [1, 16]) {
    const figures = await compareLoad(callers, { flushed, http })
    const [name, unit] =
      callers === 1 ? (['p50Ms', 'p50 in ms'] as const) : (['perSecond', 'messages per second'] as const)
    const [ours, theirs] = [figures.http[name], figures.flushed[name]]
    report({
      measure: `POST outbox, ${callers} caller${callers === 1 ? '' : 's'}, ${unit}`,
      result: short(ours),
      yardstick: `file and commit ${short(theirs)}`,
      ratio: ours / theirs,
      target: callers === 1 ? '≤ 3 (2)' : '≥ 0.40 (0.6)',
      cpu: figures.http.cpu,
    })
  }
  await pool.query('drop table bench_accept')
  await rm(folder, { recursive: true })
}

async function measureSending(
  client: Client,
  accountIds: readonly string[],
  { taker, address }: { taker: Taker; address: Parameters<typeof runNodemailer>[0]['address'] },
  report: Report,
) {
  const message = `From: ada@bench.test\r\nTo: grace@bench.test\r\nSubject: A message of a benchmark\r\n\r\n${TEXT.replaceAll('\n', '\r\n')}`
  const [ours, theirs]: [SendingFigures[], number[]] = [[], []]
  for (let run = 0; run < RUNS; run++) {
    const task = { port: taker.port, address, message, count: MESSAGES, connections: CONNECTIONS }
    theirs.push((await runNodemailer(task)).perSecond)
    ours.push(await sendAtOnce(client, accountIds, taker))
  }
  const perSecond = median(ours.map(run => run.perSecond))
  report({
    measure: `${ACCOUNTS} accounts, ${CONNECTIONS} connections, sends per second`,
    result: short(perSecond),
    yardstick: `nodemailer ${short(median(theirs))}`,
    ratio: perSecond / median(theirs),
    target: '≥ 0.40 (0.7)',
    cpu: medianCpu(ours.map(run => run.cpu)),
  })
}

interface SendingFigures {
  perSecond: number
  cpu: Cpu
}

/** Queues all messages, and lets them become due at the same time. The time to queue them is not counted. */
async function sendAtOnce(
  client: Client,
  accountIds: readonly string[],
  taker: Taker,
): Promise<SendingFigures> {
  const dueAt = Date.now() + QUEUE_SECONDS_MAX * 1000
  const expected = new Set<string>()
  let next = 0
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let nth = next++; nth < MESSAGES; nth = next++) {
        const { internetMessageId } = await post(client, accountIds[nth % ACCOUNTS] ?? '', dueAt)
        expected.add(internetMessageId)
      }
    }),
  )
  if (Date.now() > dueAt) throw new Error(`Queueing took longer than ${QUEUE_SECONDS_MAX} seconds`)
  await wait((dueAt - Date.now()) / 1000)
  const used = meterCpu()
  const taken = await untilTaken(taker, expected)
  const perSecond = (MESSAGES * 1000) / (Math.max(...taken.map(({ takenAt }) => takenAt)) - dueAt)
  return { perSecond, cpu: used(MESSAGES) }
}

async function measureDue(client: Client, accountIds: readonly string[], taker: Taker, report: Report) {
  const start = Date.now() + 5000
  const due = new Map<string, number>()
  for (let nth = 0; nth < DUE; nth++) {
    const at = start + nth * DUE_INTERVAL_MS
    const { internetMessageId } = await post(client, accountIds[nth % ACCOUNTS] ?? '', at)
    due.set(internetMessageId, at)
  }
  const taken = await untilTaken(taker, new Set(due.keys()))
  const waited = taken.map(({ messageId, askedAt }) => askedAt - (due.get(messageId) ?? 0))
  for (const [name, share, target] of [
    ['p50', 0.5, ''],
    ['p95', 0.95, '≤ 1,000'],
  ] as const)
    report({
      measure: `due until MAIL, ${name} in ms`,
      result: short(percentile(waited, share)),
      yardstick: '',
      ratio: null,
      target,
    })
}

async function untilTaken(taker: Taker, messageIds: ReadonlySet<string>) {
  const deadline = Date.now() + (QUEUE_SECONDS_MAX + 300) * 1000
  for (;;) {
    const found = taker.taken.filter(({ messageId }) => messageIds.has(messageId))
    if (found.length >= messageIds.size) return found
    if (Date.now() > deadline) throw new Error(`${found.length} of ${messageIds.size} were sent`)
    await wait(0.1)
  }
}
