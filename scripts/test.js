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
const report = name => ['--reporter=default', '--reporter=json', `--outputFile.json=${join(reports, name)}`]
const bin = name => `${root}node_modules/.bin/${name}`
const steps = [
  ['types', bin('tsc'), ['-p', '.']],
  ['types in the browser', bin('tsc'), ['-p', 'packages/server/src/http/reference/browser']],
  ['lint', bin('oxlint'), ['--deny-warnings']],
  ['format', bin('oxfmt'), ['--check', '.']],
  ['OpenAPI document', process.execPath, ['scripts/openapi.ts', '--check']],
  ['table types', process.execPath, ['scripts/tables.ts', '--check']],
  ['servers and browser', process.execPath, ['packages/server/test/servers/install.ts']],
  ['tests', bin('vitest'), ['run', ...report('tests.json'), ...process.argv.slice(2)]],
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
      ...report('oldest.json'),
      ...SPEAKS_SQL.map(part => `packages/server/src/${part}`),
      ...SPEAKS_OF_OTHERS.map(pattern => `--exclude=${pattern}`),
    ],
  ])

const failed = []
for (const [name, program, args] of steps) {
  const startedAt = performance.now()
  process.stdout.write(`\n— ${name}\n`)
  const env = name === OLDEST ? { ...process.env, WAXWING_TEST_PG: '16' } : process.env
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit', env })
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  if (error) process.stderr.write(`${error.message}\n`)
  if (status !== 0) failed.push(name)
  process.stdout.write(`— ${name}: ${status === 0 ? 'passed' : 'FAILED'} in ${seconds} s\n`)
}

for (const name of ['tests.json', 'oldest.json']) printFailures(join(reports, name))
rmSync(reports, { recursive: true })
if (!hasOldest) process.stdout.write(`\n— ${OLDEST}: not run, npm has none for this platform\n`)
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
process.stdout.write(
  failed.length === 0
    ? `\nWaxwing ${version}: every check passed.\n`
    : `\nWaxwing ${version}: failed: ${failed.join(', ')}.\n`,
)
process.exitCode = failed.length === 0 ? 0 : 1

/** Prints the failed tests of a JSON report once more, near the end of the output, where a reader looks first. */
function printFailures(path) {
  if (!existsSync(path)) return
  for (const file of JSON.parse(readFileSync(path, 'utf8')).testResults) {
    const tests = file.assertionResults.filter(test => test.status === 'failed')
    if (file.status === 'failed' && tests.length === 0)
      process.stdout.write(`\nFAILED ${file.name}\n${file.message.slice(0, 1000)}\n`)
    for (const test of tests)
      process.stdout.write(
        `\nFAILED ${file.name}: ${test.fullName}\n${test.failureMessages.join('\n').slice(0, 1000)}\n`,
      )
  }
}
