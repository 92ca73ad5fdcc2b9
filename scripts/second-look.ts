/** The result of a run of tests, as its reporter writes it. */
export interface TestReport {
  /** Files that came to their end and are red. */
  red: readonly RedFile[]
  /** Failures outside of any file: files that did not come to their end, errors that nobody caught, a run that was cancelled. */
  outside: readonly string[]
  /** Everything that went wrong, to be read. */
  text: string
}

export interface RedFile {
  /** Its path, from the folder of the repository. */
  file: string
  /** The test project in which it ran. A file with tests for PostgreSQL 16 is in two. */
  project: string
  /** The names of its tests that are red. */
  tests: readonly string[]
}

/** How a step of `npm test` ended. */
export interface StepResult {
  name: string
  /** The exit code; null if a signal ended it. */
  code: number | null
  /** Undefined for a step that runs no tests; null for tests that wrote no report. */
  report: TestReport | null | undefined
}

/** A red file, which is run once more, alone, in its project and in the way of its step. */
export interface SecondLook extends RedFile {
  step: string
}

const LOOKS_MAX = 3

/**
 * Chooses the files that are looked at again. It is none if anything else is red, or more than three files: `because`
 * then says why, unless nothing is red at all.
 */
export function planSecondLooks(results: readonly StepResult[]): {
  looks: SecondLook[]
  because: string | null
} {
  const failed = results.filter(({ code }) => code !== 0)
  const because = failed.map(explain).find(reason => reason !== null)
  if (because !== undefined) return { looks: [], because }
  const looks = failed.flatMap(({ name, report }) => (report?.red ?? []).map(red => ({ ...red, step: name })))
  if (looks.length <= LOOKS_MAX) return { looks, because: null }
  return {
    looks: [],
    because: `${looks.length} test files are red, and at most ${LOOKS_MAX} are looked at again`,
  }
}

/** Why a failed step cannot pass by a second look at its files; null if it may. */
function explain({ name, code, report }: StepResult): string | null {
  if (report === undefined) return `${name}: this is no test`
  if (report === null) return `${name}: the run ended without a report`
  const [first] = report.outside
  if (first !== undefined) return `${name}: ${first}`
  if (code === null) return `${name}: a signal ended the run`
  return report.red.length > 0 ? null : `${name}: the run failed without a red file`
}

/** The lines that name what was red once and green alone. */
export function describeFlaky(looks: readonly SecondLook[]): string[] {
  return looks.flatMap(({ file, project, tests }) =>
    tests.map(test => `flaky: ${file} › ${test} (project: ${project})`),
  )
}
