import { readOutline } from '../packages/server/src/kit/mime/outline.ts'
import { parseReport } from '../packages/server/src/features/sending/bounces/report.ts'
import { judge } from '../packages/server/src/features/sending/bounces/rules.ts'
import { DSN_SHAPES } from '../packages/server/test/sending/answers/dsn-shapes.ts'
import { short } from './figures.ts'
import type { Benchmark } from './row.ts'

const SECONDS = 5
const SEND = {
  messageId: '<2f1c.1@mail.example.com>',
  outboxId: '0199a1b2-0000-7000-8000-000000000001',
  sender: 'ada@example.com',
}

/** Reads reports over and over. @returns reports per second of one thread */
function measure(reports: readonly Buffer[], seconds: number): number {
  const begin = performance.now()
  let count = 0
  for (; performance.now() - begin < seconds * 1_000; count += reports.length) {
    for (const report of reports)
      for (const failed of parseReport(readOutline(report))?.failed ?? []) judge(failed)
  }
  return count / ((performance.now() - begin) / 1_000)
}

export const reports: Benchmark = {
  name: 'reports',
  about: 'Reports of mail that was not delivered, in many shapes: read, decided on, in one thread.',
  run(report) {
    const sources = DSN_SHAPES.map(({ write }) => Buffer.from(write(SEND)))
    measure(sources, 1)
    report({
      measure: `${sources.length} shapes, reports per second`,
      result: short(measure(sources, SECONDS)),
      yardstick: '–',
      ratio: null,
      target: '–',
    })
    return Promise.resolve()
  },
}
