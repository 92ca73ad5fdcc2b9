// `npm test`: all of CI. Arguments go to vitest, but for `--no-servers`.
import { readFileSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import path from 'node:path'
import { runSteps } from './run-steps.ts'
import { hasOldest, OLDEST, planSteps, ROOT } from './test-steps.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const WITHOUT_SERVERS = '--no-servers'

const given = process.argv.slice(2)
const hasServers = !given.includes(WITHOUT_SERVERS)
const steps = planSteps({ hasServers, given: given.filter(argument => argument !== WITHOUT_SERVERS) })
const print = (text: string) => void process.stdout.write(text)

const interruption = new AbortController()
for (const signal of SIGNALS) process.on(signal, () => interruption.abort(signal))
// What the steps print passes through here, and keeps its colours.
if (process.stdout.isTTY) process.env['FORCE_COLOR'] ??= '1'

const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-test-output-'))
const interrupted = interruption.signal
const { failed, flaky } = await runSteps(steps, { cwd: ROOT, folder, print, interrupted })

if (!hasServers)
  print('\n— tests with mail servers, the browser and other programs: not run (--no-servers)\n')
if (!hasOldest()) print(`\n— ${OLDEST}: not run, npm has none for this platform\n`)
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
  return `every check passed, ${flaky.map(({ file }) => file).join(', ')} only at a second look`
}
