import { collectDefaultMetrics, Registry } from 'prom-client'

/**
 * The registry that `/metrics` shows, with the process's own figures in it. Rooms add theirs with
 * `new Counter({ name: 'waxwing_…', help, registers: [metrics] })`. Labels never hold an id or an address.
 */
export function openMetrics(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}
