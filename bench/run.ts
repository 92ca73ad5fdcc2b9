/**
 * `npm run bench [-- name …]` measures the service against yardsticks in the same run, and prints a table for
 * bench/README.md. `--json <file>` also writes the rows there. Only ratios within one run are comparable with other
 * machines.
 */
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { installServers } from '../packages/server/test/servers/install.ts'
import { acceptMemory } from './accept-memory.ts'
import { audit } from './audit.ts'
import { changeMessage } from './change-message.ts'
import { costs } from './costs.ts'
import { downloads } from './downloads.ts'
import { events } from './events.ts'
import { feed } from './feed.ts'
import { firstSync } from './first-sync.ts'
import { gmailFirstSync } from './gmail-first-sync.ts'
import { gmailIdle } from './gmail-idle.ts'
import { gmailNotice } from './gmail-notice.ts'
import { idleAccounts } from './idle-accounts.ts'
import { idleTenThousand, idleThousand } from './idle-many.ts'
import { listPage } from './list-page.ts'
import { memory } from './memory.ts'
import { merges } from './merges.ts'
import { notice } from './notice.ts'
import { renders } from './renders.ts'
import { reports } from './reports.ts'
import { pagesRedis } from './pages-redis.ts'
import { type Benchmark, formatTable, type Row } from './row.ts'
import { redirects } from './redirects.ts'
import { s3Reads } from './s3-reads.ts'
import { search } from './search.ts'
import { sends } from './sends.ts'
import { storedBodies } from './stored-bodies.ts'
import { webhookFairness } from './webhook-fairness.ts'
import { webhooks } from './webhooks.ts'

const BENCHMARKS: readonly Benchmark[] = [
  firstSync,
  gmailFirstSync,
  storedBodies,
  listPage,
  pagesRedis,
  search,
  downloads,
  s3Reads,
  changeMessage,
  audit,
  notice,
  gmailNotice,
  memory,
  idleAccounts,
  idleThousand,
  idleTenThousand,
  gmailIdle,
  sends,
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
]

const { positionals, values } = parseArgs({ allowPositionals: true, options: { json: { type: 'string' } } })
const unknown = positionals.filter(name => !BENCHMARKS.some(benchmark => benchmark.name === name))
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(', ')}. There are:`)
  for (const { name, about } of BENCHMARKS) console.error(`  ${name.padEnd(16)}${about}`)
  process.exit(2)
}

await installServers()
const rows: Row[] = []
for (const benchmark of BENCHMARKS) {
  if (positionals.length > 0 && !positionals.includes(benchmark.name)) continue
  console.error(`${benchmark.name}: ${benchmark.about}`)
  await benchmark.run(row => {
    rows.push({ benchmark: benchmark.name, ...row })
    console.error(
      `  ${row.measure}: ${row.result}  ${row.yardstick}  ${row.ratio?.toFixed(2) ?? ''}  target ${row.target}`,
    )
  })
}

const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.versions.node}`
console.log(`\n${new Date().toISOString().slice(0, 10)}, ${machine}\n\n${formatTable(rows)}`)
if (values.json) await writeFile(values.json, `${JSON.stringify({ machine, rows }, null, 2)}\n`)
