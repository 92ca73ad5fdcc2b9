import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Step } from './run-steps.ts'

export const ROOT = path.resolve(import.meta.dirname, '..')

/** What each test that needs more than the embedded PostgreSQL imports, by whatever way. */
const SERVERS = 'packages/server/test/servers/install.ts'
const IMPORT = /^(?:import|export)(?! type ) (?:[^'=();]*?from )?'(\.[^']+)'/gm

/** Tests that use SQL also run on the oldest supported PostgreSQL, if there is a package of it. */
const SPEAKS_SQL = [
  'features',
  'jobs',
  'events',
  'sync',
  'database/migrate',
  'database/pool',
  'database/wake',
].map(part => `packages/server/src/${part}`)
/** Their subject is what others send, or time; their SQL is that of other tests. */
const SPEAKS_OF_OTHERS = [
  '**/accounts/autoconfig/**',
  '**/connect-sessions/imap-form*',
  '**/accounts/smtp-servers*',
  '**/sync/{engine,keeper}*',
]

export interface TestOptions {
  /** Whether mail servers, the browser and other programs are there. Without them, tests that need them are left out. */
  hasServers: boolean
  /** Arguments for vitest, such as the names of files. */
  given: readonly string[]
}

/** All of CI, in its order. What must be installed comes first, since the rest takes minutes. */
export function planSteps({ hasServers, given }: TestOptions): Step[] {
  const node = (script: string, ...args: string[]) => [process.execPath, script, ...args] as const
  const excluded = hasServers ? [] : findServerTests().map(file => `--exclude=${path.join(ROOT, file)}`)
  const servers: Step = { name: 'servers and browser', command: node(SERVERS), isNeeded: true }
  return [
    ...(hasServers ? [servers] : []),
    { name: 'types', command: [bin('tsc'), '-p', '.'] },
    {
      name: 'types in the browser',
      command: [bin('tsc'), '-p', 'packages/server/src/http/reference/browser'],
    },
    { name: 'lint', command: [bin('oxlint'), '--deny-warnings'] },
    { name: 'format', command: [bin('oxfmt'), '--check', '.'] },
    { name: 'OpenAPI document', command: node('scripts/openapi.ts', '--check') },
    { name: 'table types', command: node('scripts/tables.ts', '--check') },
    tests('tests', {}, [...excluded, ...given]),
    ...(hasOldest() ? [testsOnOldest(excluded, given)] : []),
  ]
}

export const OLDEST = 'tests on PostgreSQL 16'

export function hasOldest(): boolean {
  return existsSync(path.join(ROOT, 'node_modules', `postgres16-${process.platform}-${process.arch}`))
}

function testsOnOldest(excluded: readonly string[], given: readonly string[]): Step {
  const left = [...excluded, ...SPEAKS_OF_OTHERS.map(pattern => `--exclude=${pattern}`)]
  // Files that are named need not be among these.
  const chosen = given.length > 0 ? ['--passWithNoTests', ...given] : SPEAKS_SQL
  return tests(OLDEST, { WAXWING_TEST_PG: '16' }, [...left, ...chosen])
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
  return { name, env, command: run(...args), alone: file => run(file) }
}

/** The test files that need servers or programs beside Node.js and the embedded PostgreSQL. */
export function findServerTests(): string[] {
  const files = globSync('packages/*/{src,test}/**/*.ts', { cwd: ROOT })
  const importers = new Map<string, string[]>()
  for (const file of files) {
    for (const [, target = ''] of readFileSync(path.join(ROOT, file), 'utf8').matchAll(IMPORT)) {
      const imported = path.join(path.dirname(file), target)
      importers.set(imported, [...(importers.get(imported) ?? []), file])
    }
  }
  const needing = new Set([SERVERS])
  // A set that grows meanwhile is gone through to its end.
  for (const file of needing) for (const importer of importers.get(file) ?? []) needing.add(importer)
  return [...needing].filter(file => file.endsWith('.test.ts')).toSorted()
}

function bin(name: string): string {
  return path.join(ROOT, 'node_modules/.bin', name)
}
