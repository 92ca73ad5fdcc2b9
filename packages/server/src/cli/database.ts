import type { Command } from 'commander'
import { recordRestore } from '../database/feed-epoch.ts'
import type { Connect } from './connect.ts'

export function register(program: Command, connect: Connect) {
  const database = program.command('database').description('the database of this installation')

  database
    .command('restored')
    .description('declare that the database was restored to an earlier state')
    .addHelpText(
      'after',
      `
Run this after the database or the data folder was replaced by an older copy. New events then get ids that were never
used, and older cursors of the change feed are refused with invalid_cursor, so that consumers read the lists again
instead of missing what the copy lacks.

"waxwing restore" does this by itself. The service notices a dump that was loaded elsewhere, a recovery to a point in
time and a promoted standby. It does not notice a data folder that was copied back. Running the command needlessly
only makes consumers compare their data once more.

Examples:
  $ npx waxwing database restored
  $ DATABASE_URL=postgres://… WAXWING_SECRET_KEY=… npx waxwing database restored`,
    )
    .action(async () => {
      await using connection = await connect()
      await recordRestore(connection.db)
      console.log(
        'Done. Older cursors of the change feed are refused from now on, and no event id is used twice.',
      )
    })
}
