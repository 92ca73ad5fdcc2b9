import { expect, test } from 'vitest'
import { askingGauge, openMetrics } from './metrics.ts'

test('a gauge that fails does not hide the others', async () => {
  const metrics = openMetrics()
  const failing = () => Promise.reject(new Error('The database cannot be reached'))
  metrics.registerMetric(askingGauge('waxwing_failing', 'Fails', failing))
  metrics.registerMetric(askingGauge('waxwing_seven', 'Is seven', async () => 7))
  const text = await metrics.metrics()
  expect(text).toMatch(/^waxwing_seven 7$/m)
  expect(text).toMatch(/^waxwing_failing nan$/im)
  expect(text).toContain('process_cpu_seconds_total')
})

test('the event loop is measured by how busy it is, which takes no timer', async () => {
  const metrics = openMetrics()
  await metrics.metrics()
  const until = performance.now() + 20
  while (performance.now() < until);
  const text = await metrics.metrics()
  expect(Number(/^waxwing_event_loop_utilization (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(0)
  expect(text).not.toContain('nodejs_eventloop_lag_p99_seconds')
})
