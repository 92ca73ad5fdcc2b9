import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Config } from '../../config.ts'
import type { Database } from '../../database/pool.ts'
import { checkKeyRing } from '../../database/sealed-value.ts'
import { environmentKeyRing, type KeyRing } from '../../kit/key-ring.ts'
import { fileKeyRing } from '../../kit/key-ring-file.ts'
import { type Finding, ok, warning, wordsOf, wrong } from './finding.ts'

/** Whether the master key exists, fits the database, and can be read by its owner only. */
export async function checkSealingKey(
  config: Config,
  { database, isNew }: { database: Database | null; isNew: boolean },
): Promise<Finding[]> {
  const { secretKey, dataDir, databaseUrl } = config
  const file = path.join(dataDir, 'secret.key')
  if (!secretKey && !databaseUrl && !existsSync(file)) {
    if (isNew) return [ok('sealing key', 'The first start creates it.')]
    return [wrong('sealing key', `${file} is missing.`, 'Put it back from your backup.')]
  }
  try {
    const ring = secretKey
      ? environmentKeyRing(secretKey.reveal())
      : fileKeyRing(dataDir, { mayCreate: false })
    if (database) await checkKeyRing(database.db, ring)
    return [ok('sealing key', describe(ring, database !== null)), ...checkMode(secretKey ? null : file)]
  } catch (error) {
    return [wrong('sealing key', wordsOf(error))]
  }
}

function describe(ring: KeyRing, isCompared: boolean): string {
  const where = ring.source === 'file' ? 'secret.key in the data folder' : 'WAXWING_SECRET_KEY'
  const count = ring.ids().length === 1 ? 'one key' : `${ring.ids().length} keys`
  return `${where} holds ${count}${isCompared ? ', and opens the sealed values in the database' : ''}.`
}

function checkMode(file: string | null): Finding[] {
  if (file === null || (statSync(file).mode & 0o77) === 0) return []
  return [warning('sealing key', `${file} can be read by other users.`, `chmod 600 ${file}`)]
}
