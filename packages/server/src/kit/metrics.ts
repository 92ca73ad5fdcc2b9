import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { readMemoryLimit } from './own-memory.ts'

/**
 * Interval at which prom-client looks at the event loop. Each look wakes the process, which is most of what an idle one
 * costs. Its percentiles mean nothing at this interval, so they are left out.
 */
const LOOP_LOOK_MILLISECONDS = 10_000
const LOOP_PERCENTILES = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99']

/**
 * Creates the registry for `/metrics`, including the metrics of the process. Other rooms add theirs with `new Counter({
 * name: 'waxwing_…', help, registers: [metrics] })`. Labels never contain an id or an address.
 */
export function openMetrics(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_LOOK_MILLISECONDS })
  for (const part of LOOP_PERCENTILES) registry.removeSingleMetric(`nodejs_eventloop_lag_${part}_seconds`)
  registry.registerMetric(utilizationGauge())
  registry.registerMetric(memoryLimitGauge())
  return registry
}

/** The release of this process, as labels of a sample that is always 1. */
export function buildGauge(build: { version: string; node: string; roles: string }): Gauge {
  const gauge = new Gauge({
    name: 'waxwing_build_info',
    help: 'Release of Waxwing, version of Node.js and roles of this process; always 1',
    labelNames: Object.keys(build),
    registers: [],
  })
  gauge.set(build, 1)
  return gauge
}

/** A gauge with a value for each of a few labels, which are at hand whenever the metrics are read. */
export function countingGauges(
  name: string,
  help: string,
  { label, count }: { label: string; count: () => Record<string, number> },
): Gauge {
  return new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [],
    collect() {
      for (const [value, amount] of Object.entries(count())) this.set({ [label]: value }, amount)
    },
  })
}

function utilizationGauge(): Gauge {
  let earlier = performance.eventLoopUtilization()
  return new Gauge({
    name: 'waxwing_event_loop_utilization',
    help: 'Share of the time since the metrics were last read in which the event loop was busy, from 0 to 1',
    registers: [],
    collect() {
      const now = performance.eventLoopUtilization()
      this.set(performance.eventLoopUtilization(now, earlier).utilization)
      earlier = now
    },
  })
}

function memoryLimitGauge(): Gauge {
  return new Gauge({
    name: 'waxwing_memory_limit_bytes',
    help: 'Memory that the container gives this process; no sample without a limit',
    registers: [],
    collect() {
      const limit = readMemoryLimit()
      if (limit === null) this.remove()
      else this.set(limit)
    },
  })
}

/**
 * A gauge whose value is computed whenever the metrics are read; the caller registers it. If that fails, its value is
 * NaN, so that all other metrics are still shown.
 */
export function askingGauge(name: string, help: string, ask: () => Promise<number>): Gauge {
  return new Gauge({
    name,
    help,
    registers: [],
    async collect() {
      this.set(await ask().catch(() => Number.NaN))
    },
  })
}

/** Like `askingGauge`, with a value for each of a few labels. If computing them fails, there are no values. */
export function askingGauges(
  name: string,
  help: string,
  { label, ask }: { label: string; ask: () => Promise<Record<string, number>> },
): Gauge {
  return new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [],
    async collect() {
      this.reset()
      for (const [value, amount] of Object.entries(await ask().catch(() => ({})))) {
        this.set({ [label]: value }, amount)
      }
    },
  })
}
