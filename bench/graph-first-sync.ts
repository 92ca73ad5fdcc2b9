import { type ProxiedCall, startCallProxy } from '../packages/server/test/servers/call-proxy.ts'
import { type DrivenSandbox, startSandbox } from '../packages/server/test/servers/sandbox.ts'
import { type ReplayedCall, replayCalls } from './calls-process.ts'
import { addMailbox, connectGraph, GRAPH_HOST, grantGraph, graphSettings } from './graph-accounts.ts'
import type { Benchmark } from './row.ts'
import { reportFirstSync, type SyncFigures, timeFirstSync } from './time-first-sync.ts'

const MESSAGES = Number(process.env['WAXWING_BENCH_MESSAGES'] ?? 10_000)
const RUNS = 3
/** Number of batches that background work may have under way. */
const BATCHES_AT_ONCE = 2
const BATCH_PATH = '/v1.0/$batch'

export const graphFirstSync: Benchmark = {
  name: 'graph-first-sync',
  about:
    'From connecting an account of Microsoft Graph until all its mail is indexed, by the same calls, whose answers are dropped.',
  async run(report) {
    await using sandbox = await startSandbox()
    await sandbox.control('PATCH', '/graph', { limits: 'off' })
    const email = 'bench@office.test'
    await addMailbox(sandbox, email, MESSAGES)
    const made = await recordCalls(sandbox, email)
    const syncs: SyncFigures[] = []
    const yardsticks: number[] = []
    for (let run = 0; run < RUNS; run++) {
      syncs.push(await timeSync(sandbox, email, sandbox.controlUrl))
      yardsticks.push(MESSAGES / (await timeCalls(sandbox, email, made)))
    }
    reportFirstSync(report, MESSAGES, { syncs, yardsticks })
    report({
      measure: 'calls per message',
      result: (made.reduce((sum, call) => sum + countParts(call), 0) / MESSAGES).toFixed(4),
      yardstick: '',
      ratio: null,
      target: '≤ 0.02',
    })
  },
}

const timeSync = (sandbox: DrivenSandbox, email: string, controlUrl: string) =>
  timeFirstSync(MESSAGES, graphSettings(controlUrl), service => connectGraph(service, sandbox, email))

/** The calls of a first sync. */
async function recordCalls(sandbox: DrivenSandbox, email: string): Promise<ProxiedCall[]> {
  await using proxy = await startCallProxy(sandbox)
  await timeSync(sandbox, email, proxy.controlUrl)
  return proxy.calls.filter(
    ({ host, method, path }) => host === GRAPH_HOST && (method === 'GET' || path === BATCH_PATH),
  )
}

/** Each part of a batch counts as a call. */
function countParts({ path, body }: ProxiedCall): number {
  return path === BATCH_PATH ? (JSON.parse(body) as { requests: unknown[] }).requests.length : 1
}

async function timeCalls(
  sandbox: DrivenSandbox,
  email: string,
  made: readonly ProxiedCall[],
): Promise<number> {
  const { accessToken } = await grantGraph(sandbox, email)
  const replayed = ({ path, headers, body }: ProxiedCall): ReplayedCall => ({
    path,
    headers: {
      prefer: headers['prefer'] ?? '',
      ...(path === BATCH_PATH && { 'content-type': 'application/json' }),
    },
    ...(path === BATCH_PATH && { body }),
  })
  const { seconds } = await replayCalls({
    origin: sandbox.origin(GRAPH_HOST),
    token: accessToken,
    singles: made.filter(({ path }) => path !== BATCH_PATH).map(replayed),
    batches: made.filter(({ path }) => path === BATCH_PATH).map(replayed),
    atOnce: BATCHES_AT_ONCE,
  })
  return seconds
}
