// All of CI: `npm test`. Plain JavaScript, so that an older Node can say what is missing.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const [major] = process.versions.node.split('.').map(Number)
if (major < 24) {
  process.stderr.write(
    `Node.js 24 is needed, this is ${process.version}. "npm ci" brings it; then run "npm test".\n`,
  )
  process.exit(1)
}

const bin = name => `${root}node_modules/.bin/${name}`
const steps = [
  ['types', bin('tsc'), ['-p', '.']],
  ['lint', bin('oxlint'), ['--deny-warnings']],
  ['format', bin('oxfmt'), ['--check', '.']],
  ['OpenAPI document', process.execPath, ['scripts/openapi.ts', '--check']],
  ['table types', process.execPath, ['scripts/tables.ts', '--check']],
  ['mail servers', process.execPath, ['packages/server/test/servers/install.ts']],
  ['tests', bin('vitest'), ['run', ...process.argv.slice(2)]],
]

// What speaks SQL also runs on the oldest PostgreSQL that is supported, where there is a package of it.
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
const hasOldest = existsSync(`${root}node_modules/postgres16-${process.platform}-${process.arch}`)
if (hasOldest)
  steps.push([OLDEST, bin('vitest'), ['run', ...SPEAKS_SQL.map(part => `packages/server/src/${part}`)]])

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

if (!hasOldest) process.stdout.write(`\n— ${OLDEST}: not run, npm has none for this platform\n`)
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
process.stdout.write(
  failed.length === 0
    ? `\nWaxwing ${version}: every check passed.\n`
    : `\nWaxwing ${version}: failed: ${failed.join(', ')}.\n`,
)
process.exitCode = failed.length === 0 ? 0 : 1
