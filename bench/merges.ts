import { randomBytes } from 'node:crypto'
import type { MergeItem } from '@waxwing/contract/sending/mail-merges.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { Pool } from 'pg'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { type Cpu, medianCpu, meterCpu } from './cpu.ts'
import { median, percentile, short } from './figures.ts'
import { openPost } from './http.ts'
import { wait } from './imapflow-process.ts'
import { runMergeYardstick } from './merge-process.ts'
import type { Benchmark, Report } from './row.ts'
import { openItsDatabase } from './same-sql.ts'
import { startBenchService } from './service.ts'
import { startSmtpTaker } from './smtp-taker.ts'

const ENTRIES = 1000
const RUNS = 5
const ATTACHED_BYTES = 20 * 1024 * 1024
const SINGLES = 40
const SINGLE_INTERVAL_MS = 200
const WAIT_SECONDS_MAX = 300

const SUBJECT = 'News for {{params.name}}'
const HTML =
  '<h1>Dear {{params.name}},</h1>' +
  '<p>The quick brown fox jumps over the lazy dog near the bank of {{params.town}}.</p>'.repeat(40) +
  '{{#each params.items}}<p>{{this}}</p>{{/each}}'

type Client = ReturnType<typeof openPost>
type Taker = Awaited<ReturnType<typeof startSmtpTaker>>

const entries = Array.from({ length: ENTRIES }, (_, nth) => ({
  to: { name: `Reader ${nth}`, address: `reader-${nth}@bench.test` },
  params: { name: `Reader ${nth}`, town: `Town ${nth % 37}`, items: ['one', 'two', 'three'] },
}))

export const merges: Benchmark = {
  name: 'merges',
  about:
    'A mail merge of 1,000 entries over HTTP, compared with Handlebars and nodemailer alone; single sends beside one; what one with an attachment of 20 MiB takes on disk.',
  async run(report) {
    await using imap = await startDovecot()
    await using taker = await startSmtpTaker()
    await using service = await startBenchService()
    const accountId = await service.connect(imap, await imap.addUser(), { smtpPort: taker.port })
    await service.untilInitialized(accountId)
    await using database = await openItsDatabase(service.folder.path)
    using client = openPost(service)
    await measureAccepting(client, accountId, report)
    await measureDisk(client, accountId, database.pool, report)
    await measureBeside(client, accountId, taker, report)
  },
}

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()

async function merge(client: Client, accountId: string, body: Record<string, unknown>): Promise<MergeItem[]> {
  const path = `/v1/accounts/${accountId}/mail-merges`
  const { items } = await client.post<{ items: MergeItem[] }>(path, { entries, ...body })
  const failed = items.find(({ error }) => error !== null)
  if (failed) throw new Error(JSON.stringify(failed))
  return items
}

async function measureAccepting(client: Client, accountId: string, report: Report) {
  const [ours, theirs, cpus]: [number[], number[], Cpu[]] = [[], [], []]
  for (let run = 0; run < RUNS; run++) {
    theirs.push((await runMergeYardstick({ subject: SUBJECT, html: HTML, entries })).perSecond)
    const used = meterCpu()
    const start = performance.now()
    // Due long after the benchmark, so that nothing is sent meanwhile.
    await merge(client, accountId, { render: { subject: SUBJECT, html: HTML }, sendAt: inDays(7) })
    ours.push((ENTRIES * 1000) / (performance.now() - start))
    cpus.push(used(ENTRIES))
  }
  report({
    measure: `merge of ${short(ENTRIES)}, entries per second`,
    result: short(median(ours)),
    yardstick: `Handlebars and nodemailer ${short(median(theirs))}`,
    ratio: median(ours) / median(theirs),
    target: '≥ 0.30 (0.5)',
    cpu: medianCpu(cpus),
  })
}

async function measureDisk(client: Client, accountId: string, pool: Pool, report: Report) {
  const sizeOf = async () => {
    const { rows } = await pool.query<{ bytes: string }>(`
      select sum(pg_total_relation_size(name::regclass)) as bytes
      from unnest(array['outbox', 'outbox_content', 'outbox_piece', 'sent_message']) as name`)
    return Number(rows[0]?.bytes)
  }
  const before = await sizeOf()
  const content = randomBytes(ATTACHED_BYTES).toString('base64')
  await merge(client, accountId, { text: 'See the file.', attachments: [{ content }], sendAt: inDays(7) })
  const bytes = (await sizeOf()) - before
  report({
    measure: `merge of ${short(ENTRIES)} with 20 MiB attached, MB in the database`,
    result: short(bytes / 1e6),
    yardstick: `attachment ${short(ATTACHED_BYTES / 1e6)}`,
    ratio: bytes / ATTACHED_BYTES,
    target: '≤ 1.5',
  })
}

/** Single sends that become due while a merge of the same account is sent. */
async function measureBeside(client: Client, accountId: string, taker: Taker, report: Report) {
  await merge(client, accountId, { text: 'News.' })
  const due = new Map<string, number>()
  for (let nth = 0; nth < SINGLES; nth++) {
    const at = Date.now() + SINGLE_INTERVAL_MS
    const { internetMessageId } = await client.post<OutboxEntry>(`/v1/accounts/${accountId}/outbox`, {
      to: [{ address: 'grace@bench.test' }],
      text: 'A single message.',
      sendAt: new Date(at).toISOString(),
    })
    due.set(internetMessageId, at)
    await wait(SINGLE_INTERVAL_MS / 1000)
  }
  const deadline = Date.now() + WAIT_SECONDS_MAX * 1000
  const found = () => taker.taken.filter(({ messageId }) => due.has(messageId))
  while (found().length < SINGLES) {
    if (Date.now() > deadline) throw new Error(`${found().length} of ${SINGLES} were sent`)
    await wait(0.1)
  }
  const waited = found().map(({ messageId, askedAt }) => askedAt - (due.get(messageId) ?? 0))
  report({
    measure: 'single send beside a merge, due until MAIL, p95 in ms',
    result: short(percentile(waited, 0.95)),
    yardstick: `${short(taker.taken.length - SINGLES)} of the merge were sent`,
    ratio: null,
    target: '≤ 2,000',
  })
}
