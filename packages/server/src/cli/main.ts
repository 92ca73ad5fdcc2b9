import { Command } from 'commander'
import product from '../../package.json' with { type: 'json' }
import { register as registerAccount } from './account.ts'
import { register as registerAudit } from './audit.ts'
import { explain } from './command-error.ts'
import { connect } from './connect.ts'
import { register as registerBackup } from './backup.ts'
import { register as registerDatabase } from './database.ts'
import { register as registerDoctor } from './doctor.ts'
import { register as registerInstances } from './instances.ts'
import { register as registerKey } from './key.ts'
import { register as registerKeyRing } from './key-ring.ts'
import { register as registerListen } from './listen.ts'
import { register as registerMigrate } from './migrate.ts'
import { register as registerOutbox } from './outbox.ts'
import { register as registerPlan } from './plan.ts'
import { register as registerRestore } from './restore.ts'
import { register as registerServe } from './serve.ts'
import { register as registerTenant } from './tenant.ts'

/** Runs the command line. The exit code is 1 if the command refused or failed, or if its output was lost. */
export async function run(argv: string[]): Promise<void> {
  outliveOutput()
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
  registerServe(program)
  registerDoctor(program)
  registerMigrate(program, connect)
  registerBackup(program)
  registerRestore(program)
  registerDatabase(program, connect)
  registerTenant(program, connect)
  registerPlan(program, connect)
  registerAccount(program, connect)
  registerOutbox(program, connect)
  registerInstances(program, connect)
  registerKey(program, connect)
  registerKeyRing(program, connect)
  registerListen(program)
  registerAudit(program, connect)
  try {
    await program.parseAsync(argv)
  } catch (error) {
    console.error(explain(error))
    process.exitCode = 1
  }
}

/**
 * Without a listener, an output whose reader has left (EPIPE) or whose disk is full throws. The service would log
 * that to the same output, without end; instead it continues silently.
 */
function outliveOutput() {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => (process.exitCode = 1))
}
