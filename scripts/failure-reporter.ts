import { appendFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node'

const MESSAGE_CHARACTERS = 2_000
const DIFFERENCE_LINES = 30
const CAUSES_MAX = 5

type Failure = Parameters<NonNullable<Reporter['onTestRunEnd']>>[1][number]

/**
 * Writes each failure of a run as text, to the file that `WAXWING_TEST_FAILURES` names. It knows what is no test and
 * ends a run all the same: files that did not finish, and errors that nobody caught.
 */
export default class FailureReporter implements Reporter {
  onTestRunEnd(files: readonly TestModule[], uncaught: readonly Failure[], reason: TestRunEndReason): void {
    const failures = [...files.flatMap(describeFile), ...uncaught.map(describeUncaught)]
    if (failures.length === 0 && reason !== 'passed') failures.push(`The run: ${reason}`)
    const path = process.env['WAXWING_TEST_FAILURES']
    if (path) appendFileSync(path, failures.map(text => `\nFAILED ${text}\n`).join(''))
  }
}

function describeFile(file: TestModule): string[] {
  const state = file.state()
  if (state === 'passed' || state === 'skipped') return []
  const tests = [...file.children.allTests('failed')].map(
    test => `${file.moduleId}: ${test.fullName}\n${describe(test.result().errors ?? [])}`,
  )
  const suites = [...file.children.allSuites()].filter(suite => suite.errors().length > 0)
  const others = [
    ...suites.map(suite => `${file.moduleId}: around ${suite.fullName}\n${describe(suite.errors())}`),
    ...(file.errors().length > 0 ? [`${file.moduleId}\n${describe(file.errors())}`] : []),
  ]
  if (tests.length + others.length === 0) return [`${file.moduleId}: ended as ${state}`]
  return [...tests, ...others]
}

function describeUncaught(error: Failure): string {
  const { VITEST_TEST_PATH: path, VITEST_TEST_NAME: test } = error as Failure & Record<string, unknown>
  const where = [path, test].filter(part => typeof part === 'string').join(': ')
  return `${where || 'outside of any test'}: an error that nobody caught\n${describe([error])}`
}

function describe(errors: readonly Failure[]): string {
  return errors
    .map(error => describeError(error))
    .join('\n')
    .slice(0, MESSAGE_CHARACTERS)
}

function describeError({ name, message, diff, stack, cause }: Failure, depth = 0): string {
  const frames = (stack ?? '')
    .split('\n')
    .filter(line => /^ +at /.test(line) && !line.includes('/node_modules/'))
  const hasCause = typeof cause === 'object' && cause !== null && depth < CAUSES_MAX
  const because = hasCause ? [`because of ${describeError(cause as Failure, depth + 1)}`] : []
  return [`${name}: ${message}`, ...differences(diff), ...frames, ...because].join('\n')
}

/** The lines in which what was found differs from what was expected. */
function differences(diff: unknown): string[] {
  if (typeof diff !== 'string') return []
  return stripVTControlCharacters(diff)
    .split('\n')
    .filter(line => /^[-+] /.test(line))
    .slice(0, DIFFERENCE_LINES)
}
