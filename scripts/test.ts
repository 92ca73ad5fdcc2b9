// `npm test`: all of CI.
import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import path from 'node:path'
import { DURATIONS } from './durations.ts'
import { hasOldestPostgres } from './oldest-postgres.ts'
import { runSteps } from './run-steps.ts'
import { planSteps, ROOT } from './test-steps.ts'

const HELP = `Runs all of CI: types, lint, format, generated files, tests.

Usage: npm test [-- options]

  --no-servers  leaves out the tests that need mail servers, the browser or other programs
  --durations   writes the seconds of each test file to ${path.relative(ROOT, DURATIONS)} if the whole run is green; the
                machine should do nothing else meanwhile
  --help        this text

Other arguments go to Vitest, such as names of files.
`
const OPTIONS = ['--no-servers', '--durations', '--help']
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const given = process.argv.slice(2).filter(argument => !OPTIONS.includes(argument))
const [isWithoutServers, isMeasured, isHelp] = OPTIONS.map(option => process.argv.includes(option))
/** Only a whole run shows which statements never ran on PostgreSQL 16. */
const isWhole = !isWithoutServers && given.length === 0 && hasOldestPostgres()
const print = (text: string) => void process.stdout.write(text)

if (isHelp) {
  print(HELP)
  process.exit()
}
if (isMeasured && !isWhole) {
  print(`--durations needs a run of every test, on PostgreSQL 16, too.\n\n${HELP}`)
  process.exit(2)
}

const interruption = new AbortController()
for (const signal of SIGNALS) process.on(signal, () => interruption.abort(signal))
// The output of the steps passes through here, and keeps its colours.
if (process.stdout.isTTY) process.env['FORCE_COLOR'] ??= '1'

const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-test-output-'))
const durations = path.join(folder, 'durations.json')
const statements = path.join(folder, 'statements')
const env = {
  ...(isMeasured ? { WAXWING_TEST_DURATIONS: durations } : {}),
  ...(isWhole ? { WAXWING_TEST_STATEMENTS: statements } : {}),
}
const steps = planSteps({ hasServers: !isWithoutServers, given, env })
const interrupted = interruption.signal
const { failed, flaky } = await runSteps(steps, { cwd: ROOT, folder, print, interrupted })
if (isMeasured && failed.length + flaky.length === 0) copyFileSync(durations, DURATIONS)

if (isWithoutServers)
  print('\n— tests with mail servers, the browser and other programs: not run (--no-servers)\n')
if (!hasOldestPostgres()) print('\n— tests on PostgreSQL 16: not run, npm has none for this platform\n')
if (failed.length + flaky.length === 0) rmSync(folder, { recursive: true })
else print(`\nThe output of each step, and of each second look: ${folder}\n`)

const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'))
const isPassed = failed.length === 0 && !interrupted.aborted
print(`\nWaxwing ${version}: ${verdict()}.\n`)
process.exitCode = isPassed
  ? 0
  : interrupted.aborted
    ? 128 + constants.signals[interrupted.reason as NodeJS.Signals]
    : 1

function verdict(): string {
  if (interrupted.aborted) return `interrupted by ${interrupted.reason}`
  if (failed.length > 0) return `failed: ${failed.join(', ')}`
  if (flaky.length === 0) return 'every check passed'
  const names = flaky.map(({ file, project }) => `${file} (project: ${project})`)
  return `every check passed, ${names.join(', ')} only at a second look`
}
