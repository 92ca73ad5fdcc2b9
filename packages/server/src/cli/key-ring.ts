import type { Command } from 'commander'
import { runAlone } from '../database/alone.ts'
import { rotateKeyRing } from '../accounts/key-rotation.ts'
import { addKey, readKeys, retireOldKeys } from '../kit/key-ring-file.ts'
import { CommandError } from './command-error.ts'
import type { CommandConnection, Connect } from './connect.ts'

export function register(program: Command, connect: Connect) {
  const keyRing = program
    .command('key-ring')
    .description('the master keys that seal the passwords of accounts')

  keyRing
    .command('list')
    .description('list the ids of the master keys, the current one first')
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: { json?: boolean }) => {
      await using connection = await connect()
      const ids = connection.keyRing.ids()
      if (json) console.log(JSON.stringify({ source: connection.keyRing.source, keys: ids }))
      else for (const [index, id] of ids.entries()) console.log(index === 0 ? `${id}  current` : id)
    })

  keyRing
    .command('rotate')
    .description('seal everything with a new master key, while the service runs')
    .addHelpText(
      'after',
      `
With the file secret.key in the data folder: creates a new key, seals everything with it, and moves the old key to
secret.key.retired, which only older backups of the database need.

If several machines use one database, set WAXWING_SECRET_KEY instead of using the file. Then put a new key before the old
one (new,old) on every machine, restart the service there, rotate, and remove the old key.

An interrupted rotation is finished by the next one.`,
    )
    .action(async () => {
      await using connection = await connect()
      const isDone = await runAlone(connection.db, 'key-ring rotate', () => rotate(connection, console.log))
      if (!isDone) throw new CommandError('Another rotation is running. Wait until it has finished.')
    })
}

/** Rotates, and reports what was done, line by line. */
async function rotate(
  { db, keyRing, config }: CommandConnection,
  tell: (line: string) => void,
): Promise<void> {
  const isFile = keyRing.source === 'file'
  if (isFile) {
    const isInterrupted = readKeys(config.dataDir).length > 1
    if (!isInterrupted) addKey(config.dataDir)
    tell(isInterrupted ? 'Finishing an interrupted rotation.' : `Created the key ${keyRing.currentId()}.`)
  }
  const { dataKeys, sealedValues } = await rotateKeyRing(db, keyRing)
  tell(
    `Sealed ${dataKeys} account keys and ${sealedValues} values of the service with ${keyRing.currentId()}.`,
  )
  if (isFile) {
    const retired = retireOldKeys(config.dataDir)
    tell(`Moved ${retired.join(', ')} to secret.key.retired. Only older backups of the database need it.`)
    return
  }
  const others = keyRing.ids().slice(1)
  tell(
    others.length > 0
      ? `The database no longer needs ${others.join(', ')}: remove it from WAXWING_SECRET_KEY, and keep it as long as ` +
          'you keep older backups.'
      : 'WAXWING_SECRET_KEY holds one key only, so nothing had to change. To rotate, put a new key in front of it.',
  )
}
