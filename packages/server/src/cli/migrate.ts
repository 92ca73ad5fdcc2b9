import type { Command } from 'commander'
import type { Connect } from './connect.ts'

export function register(program: Command, connect: Connect) {
  program
    .command('migrate')
    .description('migrate the database to the schema of this release')
    .addHelpText(
      'after',
      `
The service does this by itself when it starts. Several processes may do it at once: one migrates, the others wait.

Examples:
  $ npx waxwing migrate
  $ DATABASE_URL=postgres://… WAXWING_SECRET_KEY=… npx waxwing migrate`,
    )
    .action(async () => {
      await using _connection = await connect()
      console.log('The database has the schema of this release.')
    })
}
