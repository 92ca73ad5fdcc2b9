import { sql } from 'kysely'
import { Counter, Histogram, type Metric, type Registry } from 'prom-client'
import type { Db } from '../../../database/pool.ts'
import { askingGauge, askingGauges } from '../../../kit/metrics.ts'
import { FAILURES_UNTIL_FAILING } from './limits.ts'
import type { RecordedAttempts } from './record-attempts.ts'
import type { AttemptResult } from './attempt-result.ts'
import { isAcknowledged } from './rules.ts'

const MILLISECONDS = 1_000

/** Counts the deliveries of this process. @returns the function to call with recorded attempts */
export function deliveryMetrics(
  metrics: Registry,
): (results: readonly AttemptResult[], recorded: RecordedAttempts) => void {
  const attempts = new Counter({
    name: 'waxwing_webhook_attempts_total',
    help: 'Webhook attempts of this process, by how they ended and whether the endpoint was failing before',
    labelNames: ['outcome', 'endpoint'],
    registers: [metrics],
  })
  const answers = new Histogram({
    name: 'waxwing_webhook_answer_seconds',
    help: 'Time until the receiver of a webhook answered',
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10],
    registers: [metrics],
  })
  const delays = new Histogram({
    name: 'waxwing_webhook_delay_seconds',
    help: 'Time from when an event was queued until its webhook was acknowledged, without replays and tests',
    buckets: [0.03, 0.1, 0.3, 1, 3, 10, 60, 600, 3_600, 36_000],
    registers: [metrics],
  })
  const disabled = new Counter({
    name: 'waxwing_webhook_endpoints_disabled_total',
    help: 'Webhook endpoints that this process disabled, by reason',
    labelNames: ['reason'],
    registers: [metrics],
  })
  return (results, recorded) => {
    for (const result of results) {
      const outcome = result.error ?? `${Math.floor((result.statusCode ?? 0) / 100)}xx`
      attempts.inc({ outcome, endpoint: recorded.failing.has(result) ? 'failing' : 'working' })
      if (result.error === null) answers.observe(result.durationMilliseconds / MILLISECONDS)
      const { isReplay, isTest } = result.delivery
      const endedAt = result.startedAt + result.durationMilliseconds
      if (isAcknowledged(result) && !isReplay && !isTest)
        delays.observe(Math.max(0, endedAt - result.queuedAt) / MILLISECONDS)
    }
    for (const { reason } of recorded.disabled) disabled.inc({ reason })
  }
}

/** Counting stops here: a queue of this length is long, however long it is. */
const COUNTED_MAX = 1_000_000

/** Gauges of the deliveries of the whole installation. */
export function deliveryGauges(db: Db): Metric[] {
  return [
    askingGauge(
      'waxwing_webhooks_queued',
      `Webhooks of the whole installation that wait to be delivered, counted up to ${COUNTED_MAX}`,
      () => countQueued(db),
    ),
    askingGauge(
      'waxwing_webhooks_oldest_due_seconds',
      'Seconds that the longest-waiting first attempt has been due, at endpoints that are not failing',
      () => findOldestDueSeconds(db),
    ),
    askingGauges('waxwing_webhook_endpoints', 'Webhook endpoints of the whole installation, by state', {
      label: 'state',
      ask: () => countEndpoints(db),
    }),
  ]
}

async function countQueued(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from webhook_delivery where due_at is not null limit ${COUNTED_MAX}
    ) as queued
  `.execute(db)
  return rows[0]?.count ?? 0
}

async function findOldestDueSeconds(db: Db): Promise<number> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from clock_timestamp() - min(first.due_at))::float8 as seconds
    from webhook_dispatch as dispatch
    join tenant on tenant.id = dispatch.tenant_id and tenant.suspended_at is null
    cross join lateral (
      select due_at from webhook_delivery
      where endpoint_id = dispatch.endpoint_id and priority = 1 and due_at is not null
      order by due_at limit 1
    ) as first
    where (dispatch.due_at is not null or dispatch.owner is not null) and failures < ${FAILURES_UNTIL_FAILING}
      and coalesce(paused_until <= clock_timestamp(), true)
  `.execute(db)
  return Math.max(0, rows[0]?.seconds ?? 0)
}

async function countEndpoints(db: Db): Promise<Record<string, number>> {
  const { rows } = await sql<{ state: string; count: number }>`
    select case
      when not is_enabled then 'disabled'
      when failures >= ${FAILURES_UNTIL_FAILING} then 'failing'
      else 'working' end as state, count(*)::int as count
    from webhook_endpoint left join webhook_dispatch on endpoint_id = id group by 1
  `.execute(db)
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}
