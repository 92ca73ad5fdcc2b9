import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node'
import { type Durations, postgresOf } from './durations.ts'

const ROOT = path.resolve(import.meta.dirname, '..')

/** Writes the durations of a green run to the file that `WAXWING_TEST_DURATIONS` names. */
export default class DurationReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], _errors: unknown, reason: TestRunEndReason): void {
    const file = process.env['WAXWING_TEST_DURATIONS']
    if (file && reason === 'passed') writeFileSync(file, describeDurations(modules.map(measure)))
  }
}

export interface MeasuredFile {
  postgres: string
  file: string
  milliseconds: number
}

/** The time in which the worker of a file could do nothing else: importing is a part of it. */
function measure(module: TestModule): MeasuredFile {
  const { collectDuration, setupDuration, duration } = module.diagnostic()
  return {
    postgres: postgresOf(module.project.config.env),
    file: path.relative(ROOT, module.moduleId),
    milliseconds: collectDuration + setupDuration + duration,
  }
}

/** The text of `durations.json`. */
export function describeDurations(files: readonly MeasuredFile[]): string {
  const durations: Durations = Object.fromEntries(
    ['18', '16'].map(version => {
      const measured = files
        .filter(({ postgres }) => postgres === version)
        .map(({ file, milliseconds }) => [file, Math.round(milliseconds / 100) / 10] as const)
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
      return [`PostgreSQL ${version}`, Object.fromEntries(measured)]
    }),
  )
  return `${JSON.stringify(durations, null, 2)}\n`
}
