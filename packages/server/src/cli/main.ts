import { Command } from 'commander'
import product from '../../package.json' with { type: 'json' }
import { explain } from './command-error.ts'
import { type Connect, connect } from './connect.ts'

type CommandModule = { register(program: Command, connect: Connect): void }

/**
 * Commands, in the order of the help. Loading all of the service takes most of the time of a short command, so only the
 * module of the command that runs is loaded.
 */
const COMMANDS: Record<string, () => Promise<CommandModule>> = {
  serve: () => import('./serve.ts'),
  doctor: () => import('./doctor.ts'),
  migrate: () => import('./migrate.ts'),
  backup: () => import('./backup.ts'),
  restore: () => import('./restore.ts'),
  database: () => import('./database.ts'),
  tenant: () => import('./tenant.ts'),
  plan: () => import('./plan.ts'),
  account: () => import('./account.ts'),
  outbox: () => import('./outbox.ts'),
  instances: () => import('./instances.ts'),
  key: () => import('./key.ts'),
  'key-ring': () => import('./key-ring.ts'),
  listen: () => import('./listen.ts'),
  audit: () => import('./audit.ts'),
}

/** Runs the command line. The exit code is 1 if the command refused or failed, or if its output was lost. */
export async function run(argv: string[]): Promise<void> {
  outliveOutput()
  const [, , name = ''] = argv
  const program = await makeProgram(name)
  try {
    await program.parseAsync(argv)
  } catch (error) {
    console.error(explain(error))
    process.exitCode = 1
  }
}

/** The program with one command, or with all of them if there is none of that name. */
export async function makeProgram(name: string): Promise<Command> {
  const program = new Command('waxwing')
    .description('Self-hosted mail, calendar and contacts API')
    .version(product.version)
    .showHelpAfterError('(add --help to see how to use it)')
    .addHelpText(
      'after',
      `
Commands work whether the service runs or not, with the same settings: "waxwing serve --help" lists them.

Examples:
  $ npx waxwing serve
  $ npx waxwing tenant create acme
  $ npx waxwing key create --tenant acme --name backend --scopes read,write`,
    )
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  // The help lists all of them, and a name that is not known is compared with theirs.
  const modules = load ? [await load()] : await Promise.all(Object.values(COMMANDS).map(each => each()))
  for (const { register } of modules) register(program, connect)
  return program
}

/**
 * Without a listener, an output whose reader has left (EPIPE) or whose disk is full throws. The service would log
 * that to the same output, without end; instead it continues silently.
 */
function outliveOutput() {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => (process.exitCode = 1))
}
