import path from 'node:path'
import type { Command } from 'commander'
import { Client } from 'pg'
import type { Config } from '../config.ts'
import { openEmbedded } from '../database/embedded/embedded.ts'
import { clientSettings } from '../database/pool.ts'
import { readKeys } from '../kit/key-ring-file.ts'
import { openLog } from '../kit/log.ts'
import { openObjects } from '../start/blobs.ts'
import { showProgress } from './backup/progress.ts'
import { writeBackup } from './backup/write-backup.ts'
import { CommandError } from './command-error.ts'
import { readProcessConfig } from './connect.ts'
import { hasEmbedded } from './doctor/check-database.ts'

export function register(program: Command) {
  program
    .command('backup')
    .description('write everything into one file, beside the running service or without one')
    .argument('<file>', 'a file that does not exist yet')
    .option('--with-key', 'put the master keys in as well: anyone with the file can then read all passwords')
    .addHelpText(
      'after',
      `
The file contains the database as it was at one moment, and the stored messages. It appears when it is complete, with
mode 600. It contains subjects, names and the beginnings of messages in plain text: protect it like the database itself.

The master key (secret.key in the data folder, or WAXWING_SECRET_KEY) is not in it. Keep the key apart: no backup can
be used without it, and anyone with both can read the passwords of the accounts.

Examples:
  $ npx waxwing backup /srv/backup/waxwing-$(date +%F)
  $ DATABASE_URL=postgres://… npx waxwing backup /srv/backup/waxwing-$(date +%F)`,
    )
    .action(backup)
}

const CONNECT_SECONDS = 10

async function backup(name: string, { withKey = false }: { withKey?: boolean }) {
  const config = readProcessConfig()
  const file = path.resolve(name)
  await using opened = new AsyncDisposableStack()
  const address = await findAddress(config, opened)
  const client = new Client({
    ...clientSettings(address, 'waxwing backup'),
    connectionTimeoutMillis: CONNECT_SECONDS * 1000,
  })
  client.on('error', () => {}) // the query in progress rejects with the same error
  await client.connect()
  opened.defer(() => client.end())
  let wasInterrupted = false
  // Work in progress fails without its connection, and the draft is removed as after any failure.
  const interrupt = () => {
    wasInterrupted = true
    client.end().catch(() => {})
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, interrupt)
    opened.defer(() => void process.off(signal, interrupt))
  }
  const objects = await openObjects(config)
  const keys = withKey ? listKeys(config) : null
  const { rows, files, missingFiles, bytes } = await writeBackup({
    client,
    file,
    objects,
    keys,
    progress: showProgress(line => console.error(line)),
  }).catch((error: unknown) => {
    throw wasInterrupted ? new CommandError('The backup was interrupted. Nothing was written.') : error
  })
  const rowCount = Object.values(rows).reduce((sum, count) => sum + count, 0)
  console.log(`Backed up ${rowCount} rows and ${files} stored messages into ${file} (${bytes} bytes).`)
  if (missingFiles > 0)
    console.log(
      `${missingFiles} stored messages were gone. They are fetched from their providers when they are read.`,
    )
  console.log(
    keys
      ? 'It contains the master keys: anyone with this file can read the passwords of the accounts.'
      : 'The master key is not in it. Keep it apart from this file: without it the backup cannot be used.',
  )
}

/**
 * Uses the running embedded server, or starts it for the duration of the backup. Creates and migrates nothing.
 */
async function findAddress({ databaseUrl, dataDir }: Config, opened: AsyncDisposableStack) {
  if (databaseUrl) return { url: databaseUrl.reveal() }
  if (!(await hasEmbedded(dataDir))) throw new CommandError(`There is no installation in ${dataDir}.`)
  const log = openLog({ level: 'info', format: 'pretty', destination: process.stderr })
  return opened.use(await openEmbedded({ dataDir, as: 'command', log })).address
}

function listKeys({ secretKey, dataDir }: Config): string[] {
  if (secretKey) return secretKey.reveal().split(',')
  return readKeys(dataDir).map(({ key }) => key.toString('base64'))
}
