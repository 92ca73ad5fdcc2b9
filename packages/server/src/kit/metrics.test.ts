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
