/** `npm run bench`: measures the service against yardsticks in the same run. `USAGE` says more. */
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { installServers } from '../packages/server/test/servers/install.ts'
import { acceptMemory } from './accept-memory.ts'
import { runAgainst } from './against.ts'
import { audit } from './audit.ts'
import { availability } from './availability.ts'
import { busyHalf } from './busy-half.ts'
import { calendarNotice } from './calendar-notice.ts'
import { calendars } from './calendars.ts'
import { changeMessage } from './change-message.ts'
import { cloudCalendarsFirstSync } from './cloud-calendars-first-sync.ts'
import { contacts } from './contacts.ts'
import { contactsFence } from './contacts-fence.ts'
import { costs } from './costs.ts'
import { formatCpu } from './cpu.ts'
import { downloads } from './downloads.ts'
import { events } from './events.ts'
import { expansion } from './expansion.ts'
import { feed } from './feed.ts'
import { firstSync } from './first-sync.ts'
import { gmailFirstSync } from './gmail-first-sync.ts'
import { gmailIdle } from './gmail-idle.ts'
import { gmailNotice } from './gmail-notice.ts'
import { graphFirstSync } from './graph-first-sync.ts'
import { graphIdle } from './graph-idle.ts'
import { graphNotice } from './graph-notice.ts'
import { graphSend } from './graph-send.ts'
import { idleAccounts } from './idle-accounts.ts'
import { idleHalves } from './idle-halves.ts'
import { idleTenThousand, idleThousand } from './idle-many.ts'
import { listPage } from './list-page.ts'
import { memory } from './memory.ts'
import { merges } from './merges.ts'
import { neighbours } from './neighbours.ts'
import { notice } from './notice.ts'
import { renders } from './renders.ts'
import { reports } from './reports.ts'
import { pagesRedis } from './pages-redis.ts'
import { type Benchmark, formatResults, type Row } from './row.ts'
import { redirects } from './redirects.ts'
import { rollWindowsBenchmark } from './roll-windows.ts'
import { s3Reads } from './s3-reads.ts'
import { sdk } from './sdk.ts'
import { sdkSizes } from './sdk-sizes.ts'
import { search } from './search.ts'
import { sends } from './sends.ts'
import { storedBodies } from './stored-bodies.ts'
import { webhookFairness } from './webhook-fairness.ts'
import { webhooks } from './webhooks.ts'

const BENCHMARKS: readonly Benchmark[] = [
  firstSync,
  gmailFirstSync,
  graphFirstSync,
  storedBodies,
  listPage,
  pagesRedis,
  search,
  downloads,
  s3Reads,
  changeMessage,
  busyHalf,
  contacts,
  contactsFence,
  calendars,
  cloudCalendarsFirstSync,
  expansion,
  rollWindowsBenchmark,
  availability,
  audit,
  neighbours,
  notice,
  gmailNotice,
  graphNotice,
  calendarNotice,
  memory,
  idleAccounts,
  idleHalves,
  idleThousand,
  idleTenThousand,
  gmailIdle,
  graphIdle,
  sends,
  graphSend,
  merges,
  renders,
  redirects,
  acceptMemory,
  reports,
  feed,
  events,
  webhooks,
  webhookFairness,
  costs,
  sdkSizes,
  sdk,
]

const USAGE = `npm run bench -- [name …] [--json FILE]
  Runs these benchmarks, or all of them, and prints a table for bench/README.md. Only ratios to a yardstick mean
  anything on other machines. Beside each rate stands the processor time of the service, the database and the mail
  server, in µs for each thing that was done, or in % of a core while nothing was done; and the load of processes that
  the benchmark had not started, in % of a core. On a busy machine, compare processor times.
  --json also writes the rows to a file.

npm run bench -- --against COMMIT [--pairs N] name …
  Runs these benchmarks with the service of that commit and with this one in turn, 5 times each, and prints the medians
  of both. The benchmarks and yardsticks are those of this commit for both.

The benchmarks:
${BENCHMARKS.map(({ name, about }) => `  ${name.padEnd(28)}${about}\n`).join('')}`

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'string' },
    against: { type: 'string' },
    pairs: { type: 'string', default: '5' },
    help: { type: 'boolean' },
  },
})
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const unknown = positionals.filter(name => !BENCHMARKS.some(benchmark => benchmark.name === name))
const pairs = Number(values.pairs)
const isAgainstAll = values.against !== undefined && positionals.length === 0
if (unknown.length > 0 || isAgainstAll || !(pairs >= 1)) {
  if (unknown.length > 0) console.error(`There is no ${unknown.join(', ')}.\n`)
  console.error(USAGE)
  process.exit(2)
}

await installServers()
const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.versions.node}`
const head = `\n${new Date().toISOString().slice(0, 10)}, ${machine}\n\n`
if (values.against !== undefined) {
  console.log(head + (await runAgainst(values.against, pairs, positionals)))
  process.exit(0)
}
const rows: Row[] = []
for (const benchmark of BENCHMARKS) {
  if (positionals.length > 0 && !positionals.includes(benchmark.name)) continue
  console.error(`${benchmark.name}: ${benchmark.about}`)
  await benchmark.run(row => {
    rows.push({ benchmark: benchmark.name, ...row })
    console.error(
      `  ${row.measure}: ${row.result}  ${row.yardstick}  ${row.ratio?.toFixed(2) ?? ''}  target ${row.target}` +
        (row.cpu ? `  processor ${formatCpu(row.cpu)}` : ''),
    )
  })
}

console.log(head + formatResults(rows))
if (values.json) await writeFile(values.json, `${JSON.stringify({ machine, rows }, null, 2)}\n`)
