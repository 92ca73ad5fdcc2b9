/** `npm run nemesis`: runs the service under faults and checks every promise afterwards; see docs/nemesis.md. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect, parseArgs } from 'node:util'
import { FAULT_KINDS, type FaultKind } from '../packages/server/test/nemesis/fault-plan.ts'
import { LAYOUTS, type Layout } from '../packages/server/test/nemesis/processes.ts'
import { runNemesis } from '../packages/server/test/nemesis/run.ts'
import { STORES, type StoresKind } from '../packages/server/test/nemesis/stores.ts'
import { installServers } from '../packages/server/test/servers/install.ts'

const HELP = `Runs three processes of the service on one database while they, the database, the networks and the servers around
them fail, and checks afterwards that every promise was kept. docs/nemesis.md says what is promised.

Usage: npm run nemesis -- [options]

  --minutes <number>   minutes of faults in each layout, 10 by default; setting up and coming to rest come on top
  --seed <number>      decides what happens and when; drawn if not given
  --layout <name>      together: each process has every role; apart: api, sync and jobs; both (default): one after the
                       other
  --stores <kind>      redis-and-s3: the processes share both; none: only the database and a folder; by default, the
                       seed decides, and of both layouts one has them and the other has not
  --accounts <number>  mailboxes of IMAP, 60 by default; a fifth as many of Microsoft Graph come on top, and at least 4
  --only <kinds>       only faults of these kinds, such as database_failover,clock_ahead; docs/nemesis.md lists them
  --help               this text

The exit code is 0 if every promise was kept, 1 if not, 2 if it could not be found out. The folder with the history and
the logs of a run that failed is kept, and named at the end.
`

class WrongUsage extends Error {}

interface Options {
  minutes: number
  seed: number
  runs: Array<{ layout: Layout; stores: StoresKind }>
  accounts: number
  only: ReadonlySet<FaultKind> | undefined
}

function readOptions(): Options | null {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string' },
      layout: { type: 'string', default: 'both' },
      stores: { type: 'string' },
      accounts: { type: 'string', default: '60' },
      only: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) return null
  const all = Object.keys(LAYOUTS) as Layout[]
  const layouts = values.layout === 'both' ? all : all.filter(layout => layout === values.layout)
  if (layouts.length === 0) throw new WrongUsage('--layout must be together, apart or both')
  const given = STORES.find(kind => kind === values.stores)
  if (values.stores !== undefined && !given) throw new WrongUsage('--stores must be redis-and-s3 or none')
  const seed = readNumber('seed', values.seed ?? String(Math.floor(Math.random() * 1e6)), 0, 1e9)
  return {
    minutes: readNumber('minutes', values.minutes, 0.25, 1_440),
    seed,
    runs: layouts.map((layout, index) => ({
      layout,
      stores: given ?? ((Math.floor(seed) + index) % 2 === 0 ? 'redis-and-s3' : 'none'),
    })),
    accounts: readNumber('accounts', values.accounts, 6, 500),
    only: values.only === undefined ? undefined : readKinds(values.only),
  }
}

function readKinds(text: string): ReadonlySet<FaultKind> {
  const names = text.split(',')
  const kinds = FAULT_KINDS.filter(kind => names.includes(kind))
  if (kinds.length === names.length) return new Set(kinds)
  throw new WrongUsage(`--only must be kinds of faults, separated by commas: ${FAULT_KINDS.join(', ')}`)
}

function readNumber(name: string, text: string, least: number, most: number): number {
  const number = Number(text)
  if (number >= least && number <= most) return number
  throw new WrongUsage(`--${name} must be a number from ${least} to ${most}`)
}

async function runAll({ minutes, seed, runs, accounts, only }: Options): Promise<boolean> {
  await installServers()
  let isKept = true
  for (const { layout, stores } of runs) {
    const folder = await mkdtemp(join(tmpdir(), `waxwing-nemesis-${seed}-${layout}-`))
    const say = (line: string) => void process.stdout.write(`${line}\n`)
    const common = { seed, layout, stores, accounts, folder, only, isShort: false, say }
    try {
      const { violations, unsettled } = await runNemesis({ ...common, seconds: minutes * 60 })
      if (violations.length === 0 && unsettled.length === 0) {
        await rm(folder, { recursive: true })
        continue
      }
    } catch (error) {
      say(`The history and the logs: ${folder}`)
      throw error
    }
    isKept = false
    say(`The history and the logs: ${folder}`)
    say(
      `To repeat it: npm run nemesis -- --seed ${seed} --layout ${layout} --stores ${stores} --minutes ${minutes} ` +
        `--accounts ${accounts}${only ? ` --only ${[...only].join(',')}` : ''}`,
    )
  }
  return isKept
}

/** Returns the exit code. */
async function run(): Promise<number> {
  try {
    const options = readOptions()
    if (options) return (await runAll(options)) ? 0 : 1
    process.stdout.write(HELP)
    return 0
  } catch (error) {
    process.stderr.write(describeError(error))
    return 2
  }
}

function describeError(error: unknown): string {
  if (error instanceof WrongUsage) return `${error.message}\n\n${HELP}`
  // An option that `parseArgs` does not know.
  if (error instanceof TypeError && 'code' in error) return `${error.message}\n\n${HELP}`
  return `${inspect(error)}\n`
}

// Left to itself, Node closes every handle before it ends, and some runs then looped for ever in its `CleanupHandles`, over
// sockets whose connections were long gone.
process.exit(await run())
