import type { SecureContext } from 'node:tls'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Db } from '../database/pool.ts'
import { requireSealedValue } from '../database/sealed-value.ts'
import type { LiveProcesses } from '../processes/live-processes.ts'
import type { Clock } from '../kit/clock.ts'
import type { KeyRing } from '../kit/key-ring.ts'
import type { Logger } from '../kit/log.ts'
import type { RedisAddress } from '../kit/redis-url.ts'
import type { Limits } from './limits.ts'
import { createMemoryWindows } from './memory-windows.ts'
import { createOwnLimits, createOwnRateWindows } from './own-limits.ts'
import { createRateWindowsOfSeveral } from './rate-windows-of-several.ts'
import { RedisCalls } from './redis/calls.ts'
import { RedisLink } from './redis/link.ts'
import { createRedisMarks } from './redis/marks.ts'
import { createNames } from './redis/names.ts'
import { createRedisWindows } from './redis/windows.ts'
import { createTableWindows } from './table-windows.ts'
import { fallBackTo } from './windows.ts'

export interface LimitsOptions {
  db: Db
  keyRing: KeyRing
  live: LiveProcesses
  clock: Clock
  log: Logger
  metrics: Registry
  /** Null: processes share a table. */
  redis: { address: RedisAddress; authorities: SecureContext | undefined } | null
  /** How long a request waits for Redis. */
  answerMilliseconds?: number
  opened: AsyncDisposableStack
}

/** Opens the limits: in Redis if there is one, otherwise in memory, or in a table while several processes answer. */
export async function openLimits(options: LimitsOptions): Promise<Limits> {
  const { db, live, clock, log, redis } = options
  if (redis) return openRedisLimits({ ...options, redis })
  const memory = createOwnRateWindows(clock)
  const table = createTableWindows(db)
  return createOwnLimits(clock, createRateWindowsOfSeveral({ memory, table, live, clock, log }))
}

async function openRedisLimits({
  db,
  keyRing,
  clock,
  log,
  metrics,
  redis,
  answerMilliseconds,
  opened,
}: LimitsOptions & { redis: NonNullable<LimitsOptions['redis']> }): Promise<Limits> {
  const keyOf = createNames(await requireSealedValue(db, keyRing, 'limit_key'))
  const link = opened.use(await RedisLink.open({ ...redis, log, keyOf, answerMilliseconds }))
  const uncounted = new Counter({
    name: 'waxwing_calls_uncounted_total',
    help: 'Requests that this process did not count, since the store of REDIS_URL did not answer in time',
    registers: [metrics],
  })
  metrics.registerMetric(upGauge(link))
  return {
    calls: opened.use(new RedisCalls({ link, onUncounted: () => uncounted.inc() })),
    openWindows: ({ windowsMax, minutes }) =>
      fallBackTo(createMemoryWindows(clock, windowsMax, minutes), createRedisWindows(link, minutes)),
    marks: createRedisMarks(link),
  }
}

function upGauge(link: RedisLink): Gauge {
  return new Gauge({
    name: 'waxwing_limit_store_up',
    help: 'Whether the store of REDIS_URL answers this process in time: 1 or 0',
    registers: [],
    collect() {
      this.set(link.isUp ? 1 : 0)
    },
  })
}
