import { setTimeout as sleep } from 'node:timers/promises'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { percentile, short } from './figures.ts'
import { openPatch } from './http.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark } from './row.ts'
import { openItsDatabase } from './same-sql.ts'
import { startBenchService } from './service.ts'

const MESSAGES = 1000
/** Messages that are marked in turn. */
const MARKED = 50
const ROUNDS = 3
const ROUND_SECONDS = 10
/** Rows of a step of the other half, which writes them in batches with pauses, as its provider names them. */
const STEP_ROWS = 5000
const BATCH_ROWS = 100
const BATCH_PAUSE_MS = 20

type ItsDatabase = Awaited<ReturnType<typeof openItsDatabase>>

export const busyHalf: Benchmark = {
  name: 'busy-half',
  about: `PATCH of isRead while steps of the account's calendars write 5,000 rows each, compared with without, in turn.`,
  async run(report) {
    await using server = await startDovecot()
    const user = await makeFullMailbox(server, MESSAGES)
    await using service = await startBenchService()
    const accountId = await service.connect(server, user)
    await service.untilInitialized(accountId)
    const path = `/v1/accounts/${accountId}/messages`
    const { body } = await service.get<{ items: Array<{ id: string }> }>(`${path}?limit=${MARKED}`)
    using client = openPatch(service)
    await using database = await openItsDatabase(service.folder.path)
    await addCalendars(database, accountId)
    let patches = 0
    const measure = async (seconds: number) => {
      const tookMs: number[] = []
      for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
        const { id } = body.items[patches % MARKED]!
        const isRead = Math.floor(patches++ / MARKED) % 2 === 0
        const before = performance.now()
        await client.patch(`${path}/${id}`, { isRead })
        tookMs.push(performance.now() - before)
      }
      return percentile(tookMs, 0.95)
    }

    await measure(ROUND_SECONDS)
    const rounds: Array<{ without: number; beside: number; ratio: number }> = []
    for (let round = 0; round < ROUNDS; round++) {
      const without = await measure(ROUND_SECONDS)
      const stop = new AbortController()
      const steps = writeSteps(database, accountId, stop.signal)
      const beside = await measure(ROUND_SECONDS).finally(async () => {
        stop.abort()
        await steps
      })
      rounds.push({ without, beside, ratio: beside / without })
    }
    const typical = rounds.toSorted((one, other) => one.ratio - other.ratio)[Math.floor(ROUNDS / 2)]!
    report({
      measure: 'PATCH isRead beside steps of 5,000 rows, p95 in ms',
      result: short(typical.beside),
      yardstick: `without ${short(typical.without)}`,
      ratio: typical.ratio,
      target: '≤ 1.2',
    })
  },
}

/** Gives the account the half of its calendars, as their wing would. */
async function addCalendars({ pool }: ItsDatabase, accountId: string): Promise<void> {
  await pool.query(
    'create table bench_row (account_id uuid not null, uid text not null, data jsonb not null)',
  )
  await pool.query(
    `insert into account_half (account_id, tenant_id, kind, owner_instance, owner_epoch)
     select account_id, tenant_id, 'calendar', owner_instance, owner_epoch from account_half
     where account_id = $1 and kind = 'mail'`,
    [accountId],
  )
}

/** Writes steps until the signal, one after the other. Each holds its half as a follower does. */
async function writeSteps({ pool }: ItsDatabase, accountId: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const client = await pool.connect()
    await client.query('begin')
    await client.query(
      `select from account join account_half on account_half.account_id = account.id
       where account.id = $1 and kind = 'calendar' for key share of account for share of account_half`,
      [accountId],
    )
    for (let written = 0; written < STEP_ROWS; written += BATCH_ROWS) {
      const rows = Array.from({ length: BATCH_ROWS }, (_, nth) => ({
        uid: `event ${written + nth}`,
        title: 'x',
      }))
      await client.query(
        `insert into bench_row select $1, uid, to_jsonb(given) from json_to_recordset($2) as given (uid text, title text)`,
        [accountId, JSON.stringify(rows)],
      )
      await sleep(BATCH_PAUSE_MS)
    }
    await client.query('commit')
    client.release()
  }
}
