import { execFile } from 'node:child_process'
import { mkdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import { openEmbedded } from '../src/database/embedded/embedded.ts'
import { openDatabase } from '../src/database/pool.ts'
import { silentLog } from '../src/kit/log.ts'
import { type DataFolder, makeDataFolder, runWaxwing } from './service-process.ts'
import { waitUntil } from './wait-until.ts'

const run = promisify(execFile)

/** Beside a full test run it takes much longer than the few seconds of its own. */
const PREPARING_SECONDS_MAX = 150

/**
 * A folder for a service's data, as a first start leaves it that ended before it made a key: the embedded database is
 * there, and has the schema. To create one takes seconds, so the first that is asked for in a test run is copied.
 * @param parent the folder that it is made in
 */
export async function makePreparedFolder(parent?: string): Promise<DataFolder> {
  const original = await requireOriginal()
  const folder = await makeDataFolder(parent)
  await run('cp', ['--archive', '--reflink=auto', `${original}/.`, folder.path])
  return folder
}

/** Makes the folder that is copied, once in a test run, whose processes all call this. */
async function requireOriginal(): Promise<string> {
  const { folder } = inject('prepared')
  const original = path.join(folder, 'original')
  const lock = path.join(folder, 'lock')
  const isThere = async () => (await exists(original)) || (await isFirst(lock))
  await waitUntil('the original of prepared folders', isThere, PREPARING_SECONDS_MAX)
  if (!(await exists(original))) await makeOriginal(original, lock)
  return original
}

/** Whether the caller has to make the original now: the first one, or the next after a failure. */
async function isFirst(lock: string): Promise<boolean> {
  return mkdir(lock).then(
    () => true,
    () => false,
  )
}

async function makeOriginal(original: string, lock: string): Promise<void> {
  const begun = `${original}.begun`
  try {
    await mkdir(begun, { mode: 0o711 })
    const { code, stderr } = await runWaxwing(['migrate'], { env: { WAXWING_DATA_DIR: begun } })
    if (code !== 0) throw new Error(`Could not prepare a folder: ${stderr}`)
    await rm(path.join(begun, 'secret.key'))
    await forgetFolder(begun)
    await rename(begun, original)
  } catch (error) {
    // Its database may take a moment to end.
    await rm(begun, { recursive: true, force: true, maxRetries: 10 })
    await rmdir(lock)
    throw error
  }
}

/** Otherwise each copy would be taken for a restored one. */
async function forgetFolder(dataDir: string): Promise<void> {
  await using embedded = await openEmbedded({ dataDir, as: 'command', log: silentLog })
  await using database = openDatabase({ address: embedded.address, applicationName: 'waxwing test' })
  await database.pool.query('update feed_epoch set place = null')
}

const exists = (file: string) =>
  stat(file).then(
    () => true,
    () => false,
  )
