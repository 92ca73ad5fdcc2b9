import type { SandboxCall } from '../packages/server/test/servers/sandbox.ts'
import { short } from './figures.ts'
import { addMailbox, connectGraph, GRAPH_HOST, graphSettings } from './graph-accounts.ts'
import { IDLE_SECONDS, measureIdle, reportIdle } from './idle.ts'
import type { Benchmark } from './row.ts'
import { startSandboxProcess } from './sandbox-process.ts'
import { startBenchService } from './service.ts'

const ACCOUNTS = Number(process.env['WAXWING_BENCH_ACCOUNTS'] ?? 1_000)
const MESSAGES = 20
/** Folders of each mailbox, besides the well-known ones. */
const FOLDERS = 20
const ADDED_AT_ONCE = 8

export const graphIdle: Benchmark = {
  name: 'graph-idle',
  about: `${ACCOUNTS} idle accounts of Microsoft Graph with ${FOLDERS} folders each, which are polled.`,
  async run(report) {
    await using sandbox = await startSandboxProcess()
    // Accounts without a subscription are looked at more often. A refused subscription is asked for again after an hour.
    await sandbox.addFault({ does: 'error', status: 400, host: GRAPH_HOST, path: '/v1.0/subscriptions*' })
    const emails = Array.from({ length: ACCOUNTS }, (_, index) => `idle-${index}@office.test`)
    for (const email of emails) {
      const client = await addMailbox(sandbox, email, MESSAGES)
      for (let folder = 0; folder < FOLDERS; folder++) await client.createFolder(`Folder ${folder}`)
    }
    await using service = await startBenchService({ env: graphSettings(sandbox.controlUrl) })
    const connect = (email: string) => connectGraph(service, sandbox, email)
    const figures = await measureIdle(service, emails, connect, ADDED_AT_ONCE)
    const { items } = await sandbox.calls({ host: GRAPH_HOST })
    reportIdle(report, `${ACCOUNTS} accounts, polled`, figures, '≤ 15')
    report({
      measure: `${ACCOUNTS} accounts, polled: calls a minute of each`,
      result: short(countLast(items) / ACCOUNTS / (IDLE_SECONDS / 60)),
      yardstick: '',
      ratio: null,
      target: '≤ 6',
    })
  },
}

/** The calls of the time in which the accounts were measured. A batch counts as its parts. */
function countLast(items: readonly SandboxCall[]): number {
  const until = items.at(-1)?.at ?? 0
  return items.filter(({ at, path }) => at > until - IDLE_SECONDS * 1_000 && path !== '/v1.0/$batch').length
}
