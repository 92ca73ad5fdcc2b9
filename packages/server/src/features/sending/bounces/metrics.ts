import { Counter, type Registry } from 'prom-client'
import type { BounceCounts } from './record-bounces.ts'

/** Counts recipients that were announced as bounced, by the source of the news. */
export function bounceMetrics(metrics: Registry): (by: 'report' | 'refusal', counts: BounceCounts) => void {
  const counter = new Counter({
    name: 'waxwing_bounces_total',
    help: 'Recipients that were not reached, by type, and by whether a report or the refusal of a server said so',
    labelNames: ['type', 'by'],
    registers: [metrics],
  })
  return (by, { hard, soft }) => {
    counter.inc({ type: 'hard', by }, hard)
    counter.inc({ type: 'soft', by }, soft)
  }
}
