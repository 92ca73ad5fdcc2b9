import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'

/** Each look wakes the process, so a hundred a second, the default, are much of what an idle one costs. */
const LOOP_LOOK_MILLISECONDS = 20

/**
 * The registry that `/metrics` shows, with the process's own figures in it. Rooms add theirs with
 * `new Counter({ name: 'waxwing_…', help, registers: [metrics] })`. Labels never hold an id or an address.
 */
export function openMetrics(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_LOOK_MILLISECONDS })
  return registry
}

/**
 * A gauge of what is asked for whenever the metrics are read, not registered yet. While that fails it is not a number, so
 * that all the others are shown.
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

/** As `askingGauge`, with a value for each of a few labels; while asking fails there is none. */
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
