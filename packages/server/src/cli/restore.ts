import { existsSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { openEmbedded } from '../database/embedded/embedded.ts'
import { requireFittingRing } from '../database/sealed-value.ts'
import { environmentKeyRing, type KeyRing } from '../kit/key-ring.ts'
import { fileKeyRing, saveKeys } from '../kit/key-ring-file.ts'
import { openLog } from '../kit/log.ts'
import { type BackupContents, checkBackup } from './backup/backup-file.ts'
import { openObjects } from '../start/blobs.ts'
import { hasFiles, openBucketStaging, openFolderStaging } from './backup/blob-files.ts'
import { showProgress } from './backup/progress.ts'
import { planMigrations, restoreBackup } from './backup/restore-backup.ts'
import { CommandError } from './command-error.ts'
import { readProcessConfig } from './connect.ts'

export function register(program: Command) {
  program
    .command('restore')
    .description('restore a backup into an empty installation')
    .argument('<file>', 'a file written by "waxwing backup"')
    .option('--replace', 'delete the data and the stored messages of the existing installation')
    .addHelpText(
      'after',
      `
First stop the service and provide the master key: the file secret.key in the data folder, or WAXWING_SECRET_KEY. The
whole file and the key are checked before anything is changed. If something fails later, everything stays as it was.

A backup from an older release is migrated to the schema of this one. PostgreSQL may have another major version.
Cursors of the change feed that were issued before the restore are refused afterwards. Messages that were due to be sent
may have been sent since the backup, so they are held: see "waxwing outbox release --help".

Examples:
  $ npx waxwing restore /srv/backup/waxwing-2026-11-21
  $ DATABASE_URL=postgres://… WAXWING_SECRET_KEY=… npx waxwing restore --replace /srv/backup/waxwing-2026-11-21`,
    )
    .action(restore)
}

async function restore(name: string, { replace = false }: { replace?: boolean }) {
  const config = readProcessConfig()
  const file = path.resolve(name)
  if (!existsSync(file)) throw new CommandError(`There is no file ${file}.`)
  const contents = await checkBackup(file)
  await planMigrations(contents.header)
  const ring = findKeyRing(config, contents)
  requireFittingRing(ring.ring, {
    values: contents.header.sealedValues.map(value => ({
      ...value,
      sealed: Buffer.from(value.sealed, 'base64'),
    })),
    keyIds: contents.header.keyIds,
    of: 'this backup',
  })
  const objects = await openObjects(config)
  if (!replace && (await hasFiles(objects))) {
    throw new CommandError(`There are stored messages in ${objects.name}. Add --replace to delete them.`)
  }
  const warn = (line: string) => console.error(line)
  await using opened = new AsyncDisposableStack()
  await restoreBackup({
    file,
    contents,
    address: await findAddress(config, opened),
    objects,
    openStaging: async () =>
      config.s3Bucket === null ? openFolderStaging(config.blobDir, warn) : openBucketStaging(objects),
    mayReplace: replace,
    beforeCommit: () => ring.save(),
    progress: showProgress(line => console.error(line)),
  })
  const { rows, files } = contents.ending
  const rowCount = Object.values(rows).reduce((sum, count) => sum + count, 0)
  console.log(`Restored ${rowCount} rows and ${files} stored messages of ${contents.header.createdAt}.`)
  console.log(
    'Clients of the change feed will get invalid_cursor, and must compare their data with the lists.',
  )
}

/** Opens the database like a service: no other process may join, and it is refused while one runs. */
async function findAddress({ databaseUrl, dataDir }: Config, opened: AsyncDisposableStack) {
  if (databaseUrl) return { url: databaseUrl.reveal() }
  const log = openLog({ level: 'info', format: 'pretty', destination: process.stderr })
  return opened.use(await openEmbedded({ dataDir, as: 'service', log })).address
}

/** The keys of this installation; if it has none, those in the backup. */
function findKeyRing(
  { secretKey, dataDir, databaseUrl }: Config,
  { keys }: BackupContents,
): { ring: KeyRing; save: () => void } {
  const keep = () => {}
  if (secretKey) return { ring: environmentKeyRing(secretKey.reveal()), save: keep }
  const file = path.join(dataDir, 'secret.key')
  if (existsSync(file)) return { ring: fileKeyRing(dataDir, { mayCreate: false }), save: keep }
  if (keys && databaseUrl === null) {
    return { ring: environmentKeyRing(keys.join(',')), save: () => saveKeys(dataDir, keys) }
  }
  throw new CommandError(
    `There is no master key here, and none in the backup. Put the secret.key of the old installation into ${dataDir}, ` +
      'or its key into WAXWING_SECRET_KEY. Nothing was changed.',
  )
}
