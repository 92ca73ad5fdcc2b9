import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'

/**
 * Each sample wakes the process. A hundred per second, the default, would be a large share of an idle process's cost.
 */
const LOOP_LOOK_MILLISECONDS = 20

/**
 * Creates the registry for `/metrics`, including the metrics of the process. Other rooms add theirs with `new Counter({
 * name: 'waxwing_…', help, registers: [metrics] })`. Labels never contain an id or an address.
 */
export function openMetrics(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_LOOK_MILLISECONDS })
  return registry
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
