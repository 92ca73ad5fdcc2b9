import { constants } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import path from 'node:path'
import type { Config } from '../../config.ts'
import { blockedAt, postgresUser } from '../../database/embedded/system-user.ts'
import { type Finding, ok, warning, wrong } from './finding.ts'

const MEGABYTE = 1024 * 1024
/** PostgreSQL cannot work on a full disk. */
const FREE_MEGABYTES_MIN = 256
const FREE_MEGABYTES_WANTED = 2048

/** Whether the data folder and the blob folder are writable and have room. */
export async function checkFolders({ dataDir, blobDir, databaseUrl }: Config): Promise<Finding[]> {
  const findings = [await checkFolder(dataDir, 'WAXWING_DATA_DIR')]
  const isBelow = !path.relative(dataDir, blobDir).startsWith('..')
  const blobs = await checkFolder(blobDir, 'WAXWING_BLOB_DIR')
  // A blob folder below the data folder was covered by the check of that folder.
  if (!isBelow || (blobs.state === 'wrong' && findings[0]?.state !== 'wrong')) findings.push(blobs)
  const user = databaseUrl ? null : await postgresUser()
  const blocked = user && (await blockedAt(await existing(dataDir), user))
  if (blocked) {
    findings.push(
      wrong(
        'data folder',
        `PostgreSQL does not run as root but as the user "nobody", who may not enter ${blocked}.`,
        `Leave WAXWING_DATA_DIR unset to use /var/lib/waxwing, choose another folder, or: chmod o+x ${blocked}`,
      ),
    )
  }
  return findings
}

async function checkFolder(folder: string, setting: string): Promise<Finding> {
  const at = await existing(folder)
  const { isDirectory, isWritable } = await look(at)
  if (!isDirectory || !isWritable) {
    const problem = isDirectory ? 'is not writable' : 'is not a folder'
    const remedy = `Make it writable for the user of the service, or choose another folder with ${setting}.`
    return wrong('data folder', `${at} ${problem}.`, remedy)
  }
  const { bavail, bsize } = await statfs(at)
  const freeMegabytes = Math.floor((bavail * bsize) / MEGABYTE)
  const room = `${freeMegabytes} MB are free`
  const remedy = 'Free space on its disk, or move it to a larger one.'
  if (freeMegabytes < FREE_MEGABYTES_MIN) return wrong('data folder', `${folder}: only ${room}.`, remedy)
  if (freeMegabytes < FREE_MEGABYTES_WANTED) return warning('data folder', `${folder}: only ${room}.`, remedy)
  const note = at === folder ? '' : ', and the first start makes it'
  return ok('data folder', `${folder}: ${room}${note}.`)
}

/** The folder, or its nearest parent that exists. */
async function existing(folder: string): Promise<string> {
  const exists = await stat(folder).then(
    () => true,
    () => false,
  )
  const parent = path.dirname(folder)
  return exists || parent === folder ? folder : existing(parent)
}

async function look(folder: string) {
  const isDirectory = (await stat(folder)).isDirectory()
  const isWritable = await access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  return { isDirectory, isWritable }
}
