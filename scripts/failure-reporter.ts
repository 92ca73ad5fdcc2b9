import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node'
import type { RedFile, TestReport } from './second-look.ts'

const MESSAGE_CHARACTERS = 2_000
const DIFFERENCE_LINES = 30
const CAUSES_MAX = 5
const ROOT = path.resolve(import.meta.dirname, '..')

type Failure = Parameters<NonNullable<Reporter['onTestRunEnd']>>[1][number]
type UncaughtFailure = Failure & { VITEST_TEST_PATH?: unknown; VITEST_TEST_NAME?: unknown }

/** Errors of the runner itself, which has a file open at the time. */
const OF_RUNNER = /^\[vitest|Timeout calling "/

/**
 * Writes what went wrong in a run to the file that `WAXWING_TEST_REPORT` names, for `npm test`. It knows what is no test
 * and ends a run all the same: files that did not finish, and errors that nobody caught.
 */
export default class FailureReporter implements Reporter {
  onTestRunEnd(
    files: readonly TestModule[],
    uncaught: readonly UncaughtFailure[],
    reason: TestRunEndReason,
  ): void {
    const report = makeReport(files, uncaught, reason)
    const file = process.env['WAXWING_TEST_REPORT']
    if (file) writeFileSync(file, JSON.stringify(report))
  }
}

function isRed(file: TestModule): boolean {
  return !['passed', 'skipped'].includes(file.state())
}

function makeReport(
  all: readonly TestModule[],
  uncaught: readonly UncaughtFailure[],
  reason: TestRunEndReason,
): TestReport {
  const files = all.filter(isRed)
  const isOfFile = (error: UncaughtFailure) =>
    all.some(({ moduleId }) => moduleId === pathOf(error)) && !OF_RUNNER.test(error.message)
  const unfinished = files
    .filter(file => file.state() !== 'failed')
    .map(file => `${nameOf(file)} ended as ${file.state()}`)
  const outside = [...unfinished, ...uncaught.filter(error => !isOfFile(error)).map(({ message }) => message)]
  const red = joinByFile([
    ...files.filter(file => file.state() === 'failed').map(redTests),
    ...uncaught.filter(isOfFile).flatMap(error => redByError(error, all)),
  ])
  if (reason === 'interrupted') outside.push('the run was interrupted')
  const texts = [...files.flatMap(describeFile), ...uncaught.map(describeUncaught)]
  if (texts.length === 0 && reason !== 'passed') texts.push(`The run: ${reason}`)
  return { red, outside, text: texts.map(text => `\nFAILED ${text}\n`).join('') }
}

function redTests(file: TestModule): RedFile {
  const tests = [...file.children.allTests('failed')].map(test => test.fullName)
  const suites = [...file.children.allSuites()].filter(suite => suite.errors().length > 0)
  const names = [...tests, ...suites.map(suite => `around ${suite.fullName}`)]
  return {
    file: nameOf(file),
    project: file.project.name,
    tests: names.length > 0 ? names : ['outside of its tests'],
  }
}

/** Such an error does not name its project, so it may be of any in which its file ran. */
function redByError(error: UncaughtFailure, all: readonly TestModule[]): RedFile[] {
  const test =
    typeof error.VITEST_TEST_NAME === 'string' ? error.VITEST_TEST_NAME : 'an error that nobody caught'
  return all
    .filter(({ moduleId }) => moduleId === pathOf(error))
    .map(file => ({ file: nameOf(file), project: file.project.name, tests: [test] }))
}

function joinByFile(all: readonly RedFile[]): RedFile[] {
  const grouped = Map.groupBy(all, ({ file, project }) => `${project} ${file}`)
  return [...grouped.values()].map(each => ({
    ...each[0]!,
    tests: [...new Set(each.flatMap(({ tests }) => tests))],
  }))
}

function nameOf(file: TestModule): string {
  return path.relative(ROOT, file.moduleId)
}

function pathOf({ VITEST_TEST_PATH: file }: UncaughtFailure): string | null {
  return typeof file === 'string' ? file : null
}

function describeFile(file: TestModule): string[] {
  const tests = [...file.children.allTests('failed')].map(
    test => `${file.moduleId}: ${test.fullName}\n${describe(test.result().errors ?? [])}`,
  )
  const suites = [...file.children.allSuites()].filter(suite => suite.errors().length > 0)
  const others = [
    ...suites.map(suite => `${file.moduleId}: around ${suite.fullName}\n${describe(suite.errors())}`),
    ...(file.errors().length > 0 ? [`${file.moduleId}\n${describe(file.errors())}`] : []),
  ]
  if (tests.length + others.length === 0) return [`${file.moduleId}: ended as ${file.state()}`]
  return [...tests, ...others]
}

function describeUncaught(error: UncaughtFailure): string {
  const { VITEST_TEST_PATH: file, VITEST_TEST_NAME: test } = error
  const where = [file, test].filter(part => typeof part === 'string').join(': ')
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
