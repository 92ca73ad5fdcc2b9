// All of CI: `npm test`. Plain JavaScript, so that an older Node can say what is missing.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const [major] = process.versions.node.split('.').map(Number)
if (major < 24) {
  process.stderr.write(
    `Node.js 24 is needed, this is ${process.version}. "npm ci" brings it; then run "npm test".\n`,
  )
  process.exit(1)
}

const reports = mkdtempSync(join(tmpdir(), 'waxwing-test-reports-'))
const failures = join(reports, 'failures.txt')
const reporting = ['--reporter=default', '--reporter=./scripts/failure-reporter.ts']
const bin = name => `${root}node_modules/.bin/${name}`
const steps = [
  ['types', bin('tsc'), ['-p', '.']],
  ['types in the browser', bin('tsc'), ['-p', 'packages/server/src/http/reference/browser']],
  ['lint', bin('oxlint'), ['--deny-warnings']],
  ['format', bin('oxfmt'), ['--check', '.']],
  ['OpenAPI document', process.execPath, ['scripts/openapi.ts', '--check']],
  ['table types', process.execPath, ['scripts/tables.ts', '--check']],
  ['servers and browser', process.execPath, ['packages/server/test/servers/install.ts']],
  ['tests', bin('vitest'), ['run', ...reporting, ...process.argv.slice(2)]],
]

// Tests that use SQL also run on the oldest supported PostgreSQL, if there is a package of it.
const OLDEST = 'tests on PostgreSQL 16'
const SPEAKS_SQL = [
  'features',
  'jobs',
  'events',
  'sync',
  'database/migrate',
  'database/pool',
  'database/wake',
]
/** Their subject is what others send, or time; their SQL is that of other tests. */
const SPEAKS_OF_OTHERS = [
  '**/accounts/autoconfig/**',
  '**/connect-sessions/imap-form*',
  '**/accounts/smtp-servers*',
  '**/sync/{engine,keeper}*',
]
const hasOldest = existsSync(`${root}node_modules/postgres16-${process.platform}-${process.arch}`)
if (hasOldest)
  steps.push([
    OLDEST,
    bin('vitest'),
    [
      'run',
      ...reporting,
      ...SPEAKS_SQL.map(part => `packages/server/src/${part}`),
      ...SPEAKS_OF_OTHERS.map(pattern => `--exclude=${pattern}`),
    ],
  ])

const failed = []
for (const [name, program, args] of steps) {
  const startedAt = performance.now()
  process.stdout.write(`\n— ${name}\n`)
  const env = { ...process.env, WAXWING_TEST_FAILURES: failures }
  if (name === OLDEST) env.WAXWING_TEST_PG = '16'
  const { status, signal, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit', env })
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  if (error) process.stderr.write(`${error.message}\n`)
  if (status !== 0) failed.push(name)
  const result = status === 0 ? 'passed' : `FAILED with ${signal ?? `exit code ${status}`}`
  process.stdout.write(`— ${name}: ${result} in ${seconds} s\n`)
}

// Once more, near the end of the output, where a reader looks first.
if (existsSync(failures)) process.stdout.write(readFileSync(failures, 'utf8'))
rmSync(reports, { recursive: true })
if (!hasOldest) process.stdout.write(`\n— ${OLDEST}: not run, npm has none for this platform\n`)
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
process.stdout.write(
  failed.length === 0
    ? `\nWaxwing ${version}: every check passed.\n`
    : `\nWaxwing ${version}: failed: ${failed.join(', ')}.\n`,
)
process.exitCode = failed.length === 0 ? 0 : 1
