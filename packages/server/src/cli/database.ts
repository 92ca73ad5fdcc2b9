import type { Command } from 'commander'
import { recordRestore } from '../database/feed-epoch.ts'
import { countDue } from '../features/sending/outbox/held.ts'
import { acceptEmpty, recordRestoredBlobs } from '../start/blob-mark.ts'
import { openObjects } from '../start/blobs.ts'
import type { Connect } from './connect.ts'

export function register(program: Command, connect: Connect) {
  const database = program.command('database').description('the database of this installation')

  database
    .command('restored')
    .description('declare that the database was restored to an earlier state')
    .option(
      '--without-blobs',
      'the stored messages are lost: begin with the empty folder or bucket that the settings name',
    )
    .option('--dry-run', 'only say how many messages would be held')
    .addHelpText(
      'after',
      `
Run this after the database or the data folder was set back to an earlier state. New events then get ids that were never
used, and older cursors of the change feed are refused with invalid_cursor, so that consumers read the lists again
instead of missing what the copy lacks.

"waxwing restore" does this by itself. The service notices a dump that was loaded elsewhere, a recovery to a point in
time, a promoted standby and a copy that took the place of the data folder. It does not notice a snapshot of a file
system or a machine that was rolled back.

Messages that are due may have been sent before, since the copy has forgotten that. They are held: the service looks for
them among sent mail, and what it does not find is "failed" until "waxwing outbox release" sends it. --dry-run says
how many there are. So if nothing was restored, do not run this while messages wait.

It also tells the service that this database is the one that the folder or the bucket of stored messages belongs to.
Stored messages that it does not name are then removed from there after two days. If a copy of the database runs beside
the original one, give the copy a folder or a prefix of its own, and do not run this command with the folder or bucket of
the original.

Examples:
  $ npx waxwing database restored
  $ DATABASE_URL=postgres://… WAXWING_SECRET_KEY=… npx waxwing database restored`,
    )
    .action(
      async ({ withoutBlobs = false, dryRun = false }: { withoutBlobs?: boolean; dryRun?: boolean }) => {
        await using connection = await connect()
        const { db, config } = connection
        console.log(describeDue(await countDue(db)))
        if (dryRun) return
        const objects = await openObjects(config)
        // First, since it may be refused.
        if (withoutBlobs) await acceptEmpty(db, objects)
        await recordRestore(db)
        await recordRestoredBlobs(db, objects)
        console.log(
          'Done. Older cursors of the change feed are refused from now on, and no event id is used twice.',
        )
        if (withoutBlobs) console.log('Stored messages that are gone are read from their providers again.')
      },
    )
}

function describeDue(count: number): string {
  if (count === 0) return 'No message is due, so none is held.'
  const [messages, they] = count === 1 ? ['1 message is', 'It'] : [`${count} messages are`, 'They']
  return `${messages} due. ${they} may have been sent before, and will be held: see "waxwing outbox release --help".`
}
