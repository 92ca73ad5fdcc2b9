import { randomBytes, randomUUID } from 'node:crypto'
import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import {
  type KeyRing,
  KeyRingError,
  type MasterKey,
  masterKey,
  parseMasterKey,
  ringOver,
} from './key-ring.ts'
import { SEAL_KEY_BYTES } from './seal.ts'

const FILE_NAME = 'secret.key'
const RETIRED_NAME = 'secret.key.retired'
const PREAMBLE = `# The master keys of this Waxwing installation, the current one first. Anyone who has them
# and the database can read the passwords of its accounts; without them, nobody can. Back up this
# file, apart from the database. Change keys with: waxwing key-ring rotate
`

/**
 * The ring in the file `secret.key` of a data folder. A missing file is created (0600) if `mayCreate`; otherwise it is
 * refused with `lost` or with the text for an external database.
 */
export function fileKeyRing(dataFolder: string, options: { mayCreate: boolean; lost?: string }): KeyRing {
  const path = join(dataFolder, FILE_NAME)
  if (!existsSync(path)) {
    if (!options.mayCreate) {
      throw new KeyRingError(
        options.lost ??
          `WAXWING_SECRET_KEY is not set and ${path} does not exist. An external database needs a key that outlives ` +
            `this machine: set WAXWING_SECRET_KEY to 32 bytes in base64 (openssl rand -base64 32)`,
      )
    }
    createFile(dataFolder, [newMasterKey()])
  }
  let keys = readKeys(dataFolder)
  let stamp = stampOf(path)
  // Keys that left the file stay usable in this process: a row that was read before its key was wrapped again still
  // opens.
  const retired: MasterKey[] = []
  return ringOver('file', isFresh => {
    if (isFresh) {
      const now = stampOf(path)
      if (now !== stamp) {
        const read = readKeys(dataFolder)
        retired.push(...keys.filter(key => !read.some(({ id }) => id === key.id)))
        keys = read
        stamp = now
      }
      return keys
    }
    return [...keys, ...retired]
  })
}

/** Writes the file with these keys in base64; never replaces an existing file. */
export function saveKeys(dataFolder: string, keys: readonly string[]): void {
  createFile(
    dataFolder,
    keys.map(key => parseMasterKey(key, FILE_NAME)),
  )
}

/** The keys in the file, the current one first. */
export function readKeys(dataFolder: string): MasterKey[] {
  const path = join(dataFolder, FILE_NAME)
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith('#'))
  if (lines.length === 0) throw new KeyRingError(`${path} holds no key`)
  return lines.map(line => parseMasterKey(line, path))
}

/** Puts a new key in front; values sealed with the others still open. Returns the id of the new key. */
export function addKey(dataFolder: string): string {
  const added = newMasterKey()
  replaceFile(dataFolder, [added, ...readKeys(dataFolder)])
  return added.id
}

/**
 * Leaves only the current key in the ring. The others go to `secret.key.retired`, which the service never reads: they
 * are needed to open a backup of the database that is older than the rotation.
 */
export function retireOldKeys(dataFolder: string): string[] {
  const [current, ...old] = readKeys(dataFolder)
  if (!current || old.length === 0) return []
  const retiredAt = new Date().toISOString()
  appendFileSync(
    join(dataFolder, RETIRED_NAME),
    old.map(({ id, key }) => `# ${id}, retired ${retiredAt}\n${key.toString('base64')}\n`).join(''),
    { mode: 0o600, flush: true },
  )
  replaceFile(dataFolder, [current])
  return old.map(({ id }) => id)
}

function newMasterKey(): MasterKey {
  return masterKey(randomBytes(SEAL_KEY_BYTES))
}

/** Shows whether the file was replaced: a rename gives it another inode. */
function stampOf(path: string): string {
  const { ino, mtimeNs, size } = statSync(path, { bigint: true })
  return `${ino}:${mtimeNs}:${size}`
}

function createFile(dataFolder: string, keys: readonly MasterKey[]): void {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  const draft = writeDraft(dataFolder, keys)
  try {
    // Unlike a rename, a link never replaces a key that another process created in the meantime.
    linkSync(draft, join(dataFolder, FILE_NAME))
  } catch (error) {
    if (!existsSync(join(dataFolder, FILE_NAME))) throw error
  } finally {
    rmSync(draft)
  }
  syncFolder(dataFolder)
}

function replaceFile(dataFolder: string, keys: readonly MasterKey[]): void {
  renameSync(writeDraft(dataFolder, keys), join(dataFolder, FILE_NAME))
  syncFolder(dataFolder)
}

function writeDraft(dataFolder: string, keys: readonly MasterKey[]): string {
  const draft = join(dataFolder, `.${FILE_NAME}.${randomUUID()}`)
  const lines = keys.map(({ id, key }) => `# ${id}\n${key.toString('base64')}\n`)
  writeFileSync(draft, PREAMBLE + lines.join(''), { mode: 0o600, flag: 'wx', flush: true })
  return draft
}

/** A new name in a folder survives a power failure only after the folder is flushed too. */
function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
