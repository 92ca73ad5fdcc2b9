import path from 'node:path'
import { findTestsUsing, readSources } from './import-graph.ts'
import type { Step } from './run-steps.ts'

export const ROOT = path.resolve(import.meta.dirname, '..')

/** The file in which a whole run lists the statements that ran on PostgreSQL 18 only. */
const STATEMENTS = path.join(ROOT, 'node_modules/.cache/statements-on-18-only.txt')

/** The module that each test imports, directly or not, if it needs more than the embedded PostgreSQL. */
const SERVERS = 'packages/server/test/servers/install.ts'

const DURATION_REPORTER = `--reporter=${path.join(ROOT, 'scripts/duration-reporter.ts')}`

export interface TestOptions {
  /** Whether mail servers, the browser and other programs are there. Without them, tests that need them are left out. */
  hasServers: boolean
  /** Arguments for vitest, such as the names of files. */
  given: readonly string[]
  /** The environment of the tests, besides that of this process. */
  env: Readonly<Record<string, string>>
}

/** All of CI, in its order. Installation comes first, since the rest takes minutes. */
export function planSteps({ hasServers, given, env }: TestOptions): Step[] {
  const node = (script: string, ...args: string[]) => [process.execPath, script, ...args] as const
  const excluded = hasServers ? [] : findServerTests().map(file => `--exclude=${path.join(ROOT, file)}`)
  const recorded = env['WAXWING_TEST_STATEMENTS']
  const statements = node('packages/server/test/statements/plan-on-oldest.ts', recorded ?? '', STATEMENTS)
  const servers: Step = { name: 'servers and browser', command: node(SERVERS), isNeeded: true }
  return [
    ...(hasServers ? [servers] : []),
    { name: 'types', command: [bin('tsc'), '-p', '.'] },
    {
      name: 'types in the browser',
      command: [bin('tsc'), '-p', 'scripts/docs/browser'],
    },
    { name: 'lint', command: [bin('oxlint'), '--deny-warnings'] },
    { name: 'format', command: [bin('oxfmt'), '--check', '.'] },
    { name: 'wording', command: node('scripts/check-wording.ts') },
    { name: 'OpenAPI document', command: node('scripts/openapi.ts', '--check') },
    { name: 'SDK', command: node('scripts/sdk.ts', '--check') },
    { name: 'table types', command: node('scripts/tables.ts', '--check') },
    tests('tests', env, [
      ...(env['WAXWING_TEST_DURATIONS'] ? [DURATION_REPORTER] : []),
      ...excluded,
      ...given,
    ]),
    ...(recorded ? [{ name: 'statements on PostgreSQL 16', command: statements }] : []),
  ]
}

/** A step of tests, whose red files can be run alone in the same way. */
export function tests(name: string, env: Step['env'] & object, args: readonly string[]): Step {
  const run = (...more: readonly string[]): Step['command'] => [
    bin('vitest'),
    'run',
    '--reporter=default',
    `--reporter=${path.join(ROOT, 'scripts/failure-reporter.ts')}`,
    ...more,
  ]
  return { name, env, command: run(...args), alone: (file, project) => run(`--project=${project}`, file) }
}

/** The test files that need servers or programs beside Node.js and the embedded PostgreSQL. */
export function findServerTests(): string[] {
  return findTestsUsing(SERVERS, readSources())
}

function bin(name: string): string {
  return path.join(ROOT, 'node_modules/.bin', name)
}
