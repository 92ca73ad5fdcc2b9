import type { Metric } from 'prom-client'
import product from '../../package.json' with { type: 'json' }
import type { Config } from '../config.ts'
import type { Outside } from '../connections/outside.ts'
import type { Database } from '../database/pool.ts'
import { buildGauge, countingGauges } from '../kit/metrics.ts'

/** Metrics of every process, whatever its roles: its release, its connections, and its calls of providers. */
export function processMetrics(
  { roles }: Pick<Config, 'roles'>,
  { pool }: Pick<Database, 'pool'>,
  { countConnections, metrics }: Pick<Outside, 'countConnections' | 'metrics'>,
): Metric[] {
  return [
    buildGauge({ version: product.version, node: process.versions.node, roles: roles.join(',') }),
    countingGauges(
      'waxwing_database_connections',
      'Connections of this process to the database, by state; "waiting" counts statements without one',
      {
        label: 'state',
        count: () => ({
          busy: pool.totalCount - pool.idleCount,
          idle: pool.idleCount,
          waiting: pool.waitingCount,
        }),
      },
    ),
    countingGauges(
      'waxwing_mail_connections',
      'Connections of this process to mail servers, open or being opened, by protocol',
      { label: 'protocol', count: countConnections },
    ),
    ...metrics,
  ]
}
