import { configureGmail, openGmailClient, SCOPES } from '../packages/server/test/gmail/gmail-client.ts'
import {
  type SandboxCall,
  type SandboxServer,
  startSandbox,
} from '../packages/server/test/servers/sandbox.ts'
import { type ReplayedCall, replayCalls } from './calls-process.ts'
import { connectGmail, gmailSettings } from './gmail-accounts.ts'
import type { Benchmark } from './row.ts'
import { reportFirstSync, type SyncFigures, timeFirstSync } from './time-first-sync.ts'

const MESSAGES = 10_000
const RUNS = 3
/** As many as the service makes. */
const BATCHES_AT_ONCE = 3
const GET_UNITS = 20
const THREAD_UNITS = 40
const LIST_UNITS = 5
const LISTED_AT_ONCE = 500

export const gmailFirstSync: Benchmark = {
  name: 'gmail-first-sync',
  about:
    'From connecting a Gmail account until all its mail is indexed, by the same calls, whose answers are dropped.',
  async run(report) {
    await using sandbox = await startSandbox()
    await configureGmail(sandbox, { quota: 'off' })
    const email = 'bench@gmail.test'
    await sandbox.addUser(email, { messages: MESSAGES })
    const threads = await listThreads(sandbox, email)
    const syncs: SyncFigures[] = []
    const yardsticks: number[] = []
    let units = 0
    let after = 0
    for (let run = 0; run < RUNS; run++) {
      const { items: before } = await sandbox.calls({ user: email, after })
      after = Math.max(after, ...before.map(({ id }) => id))
      syncs.push(await timeSync(sandbox, email, 'none'))
      const made = await sandbox.calls({ user: email, after })
      units = made.units
      yardsticks.push(MESSAGES / (await timeCalls(sandbox, email, made.items)))
    }
    reportFirstSync(report, MESSAGES, { syncs, yardsticks })
    const reportUnits = (measure: string, used: number, least: number) =>
      report({
        measure,
        result: (used / MESSAGES).toFixed(2),
        yardstick: `the least possible ${(least / MESSAGES).toFixed(2)}`,
        ratio: used / least,
        target: '≤ 1.05',
      })
    reportUnits('quota units per message', units, leastUnits(threads))
    const { items } = await sandbox.calls({ user: email, after })
    after = Math.max(after, ...items.map(({ id }) => id))
    await timeSync(sandbox, email, 'full')
    const full = await sandbox.calls({ user: email, after })
    // Threads have no sources.
    reportUnits(
      'quota units per message, with every body',
      full.units,
      leastUnits(threads.flatMap(count => Array<number>(count).fill(1))),
    )
  },
}

const timeSync = (sandbox: SandboxServer, email: string, bodyStorage: 'none' | 'full') =>
  timeFirstSync(MESSAGES, gmailSettings(sandbox), service =>
    connectGmail(service, sandbox, email, bodyStorage),
  )

async function timeCalls(
  sandbox: SandboxServer,
  email: string,
  made: readonly SandboxCall[],
): Promise<number> {
  const { accessToken } = await sandbox.grant(email, SCOPES)
  const pathOf = ({ path, query }: SandboxCall) => (query === '' ? path : `${path}?${query}`)
  const singles = made.filter(
    ({ partOf, method, path }) => partOf === null && method === 'GET' && path.includes('/gmail/'),
  )
  const parts = Map.groupBy(
    made.filter(({ partOf }) => partOf !== null),
    ({ partOf }) => partOf,
  )
  const { seconds } = await replayCalls({
    origin: sandbox.origin('gmail.googleapis.com'),
    token: accessToken,
    singles: singles.map(call => ({ path: pathOf(call) })),
    batches: [...parts.values()].map(some => batchOf(some.map(pathOf))),
    atOnce: BATCHES_AT_ONCE,
  })
  return seconds
}

function batchOf(paths: readonly string[]): ReplayedCall {
  const parts = paths.map(
    (path, index) =>
      `--bench\r\nContent-Type: application/http\r\nContent-ID: <item-${index}>\r\n\r\nGET ${path}\r\n\r\n`,
  )
  return {
    path: '/batch/gmail/v1',
    headers: { 'content-type': 'multipart/mixed; boundary=bench' },
    body: `${parts.join('')}--bench--\r\n`,
  }
}

/** The number of messages of each thread. */
async function listThreads(sandbox: SandboxServer, email: string): Promise<number[]> {
  const client = await openGmailClient(sandbox, email)
  const threads = new Map<string, number>()
  for (let pageToken = ''; ;) {
    const { messages = [], nextPageToken } = await client.call(api =>
      api.messages.list({
        includeSpamTrash: true,
        maxResults: LISTED_AT_ONCE,
        ...(pageToken && { pageToken }),
      }),
    )
    for (const { threadId } of messages) threads.set(threadId!, (threads.get(threadId!) ?? 0) + 1)
    if (!nextPageToken) return [...threads.values()]
    pageToken = nextPageToken
  }
}

/** Every id must be listed once, and each message be fetched alone or with its thread. */
function leastUnits(threads: readonly number[]): number {
  const messages = threads.reduce((sum, count) => sum + count, 0)
  const fetched = threads.reduce((sum, count) => sum + Math.min(count * GET_UNITS, THREAD_UNITS), 0)
  return fetched + Math.ceil(messages / LISTED_AT_ONCE) * LIST_UNITS
}
