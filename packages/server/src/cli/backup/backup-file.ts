import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, open, rename, rm, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { CommandError } from '../command-error.ts'

/*
 * A backup is one file: a line that names the format, then records of a kind (1 byte), a length (4 bytes) and content,
 * then the SHA-256 of everything before it. Records come in this order:
 *
 *   H  the header, as JSON
 *   K  the master keys, as JSON, if requested
 *   T  a table, as JSON, then R for each piece of its rows (PostgreSQL's COPY text, compressed with zstd)
 *   B  a stored file, as JSON, then F for each piece of it
 *   E  the counts of what was written, as JSON
 *   Z  the checksum
 */
const FORMAT = 'WAXWING BACKUP 1\n'
const KINDS = 'HKTRBFEZ'
const HEAD_BYTES = 5
/** Pieces are cut to this size before they are compressed. */
export const PIECE_BYTES = 1024 * 1024
/** The header contains the sealed values; a piece that cannot be compressed grows a little. */
const RECORD_BYTES_MAX = 8 * 1024 * 1024
const DIGEST_BYTES = 32

export interface BackupRecord {
  kind: string
  content: Buffer
}

export const header = z.object({
  createdAt: z.iso.datetime(),
  release: z.string(),
  postgres: z.string(),
  migrations: z.array(z.object({ version: z.int(), name: z.string(), checksum: z.string() })),
  /** Values that only the right master key opens. */
  sealedValues: z.array(z.object({ name: z.string(), sealed: z.base64() })),
  keyIds: z.array(z.string()),
  leftOut: z.array(z.string()),
})
export const keys = z.array(z.string())
export const table = z.object({ name: z.string(), columns: z.array(z.string()) })
export const storedFile = z.object({ key: z.string().regex(/^[0-9a-f/-]+$/), bytes: z.int().min(0) })
export const ending = z.object({
  rows: z.record(z.string(), z.int()),
  sequences: z.array(z.object({ name: z.string(), last: z.string(), isCalled: z.boolean() })),
  files: z.int(),
  fileBytes: z.int(),
  missingFiles: z.int(),
})
export type BackupHeader = z.infer<typeof header>
export type BackupEnding = z.infer<typeof ending>

const CANNOT_WRITE = new Set(['ENOENT', 'EACCES', 'EROFS', 'ENOSPC', 'EDQUOT', 'ENOTDIR'])

/** A backup that is being written, beside its destination, under a temporary name until it is complete. */
export interface BackupWriter extends AsyncDisposable {
  write(kind: string, content: Uint8Array | object): Promise<void>
  /** Completes the file and gives it its final name. @returns its size */
  commit(): Promise<number>
}

export async function createBackup(file: string): Promise<BackupWriter> {
  if (existsSync(file)) throw existing(file)
  const draft = path.join(path.dirname(file), `.${path.basename(file)}.${randomUUID()}`)
  const handle = await open(draft, 'wx', 0o600).catch(refuse)
  const hash = createHash('sha256')
  let bytes = 0
  function refuse(error: NodeJS.ErrnoException): never {
    if (!CANNOT_WRITE.has(error.code ?? '')) throw error
    throw new CommandError(`The backup ${file} cannot be written: ${error.message}`)
  }
  async function append(content: Uint8Array) {
    await handle.writeFile(content).catch(refuse)
    bytes += content.length
  }
  async function write(kind: string, content: Uint8Array | object) {
    const body = content instanceof Uint8Array ? content : Buffer.from(JSON.stringify(content))
    if (body.length > RECORD_BYTES_MAX) throw new Error(`A record of ${body.length} bytes is too large`)
    const head = Buffer.alloc(HEAD_BYTES, kind)
    head.writeUInt32BE(body.length, 1)
    for (const part of [head, body]) {
      hash.update(part)
      await append(part)
    }
  }
  hash.update(FORMAT)
  await append(Buffer.from(FORMAT))
  return {
    write,
    async commit() {
      await write('Z', hash.copy().digest())
      await handle.sync().catch(refuse)
      await handle.close().catch(refuse)
      await giveName(draft, file).catch(refuse)
      await syncFolder(path.dirname(file)).catch(refuse)
      return bytes
    },
    async [Symbol.asyncDispose]() {
      await handle.close().catch(() => {})
      await rm(draft, { force: true })
    },
  }
}

/**
 * Unlike a rename, a link never replaces a file that was created in the meantime; not every file system has links.
 */
async function giveName(draft: string, file: string) {
  try {
    await link(draft, file)
    await rm(draft)
  } catch (error) {
    if (existsSync(file)) throw existing(file)
    if (!WITHOUT_LINKS.has(codeOf(error))) throw error
    await rename(draft, file)
  }
}

const WITHOUT_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

function existing(file: string) {
  return new CommandError(`${file} already exists. Choose another name.`)
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

async function syncFolder(folder: string) {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * The records of a backup without its checksum. Throws `CommandError` if the file is cut off or was changed.
 */
export async function* readBackup(file: string): AsyncGenerator<BackupRecord> {
  const handle = await open(file, 'r')
  try {
    const hash = createHash('sha256')
    const read = async (length: number) => readExactly(handle, length, file)
    const format = await read(FORMAT.length)
    if (format.toString('latin1') !== FORMAT) throw new CommandError(`${file} is not a Waxwing backup.`)
    hash.update(format)
    for (;;) {
      const head = await read(HEAD_BYTES)
      const kind = String.fromCharCode(head[0] ?? 0)
      const length = head.readUInt32BE(1)
      if (!KINDS.includes(kind) || length > RECORD_BYTES_MAX) throw damaged(file)
      const content = await read(length)
      if (kind === 'Z') {
        if (length !== DIGEST_BYTES || !hash.digest().equals(content)) throw damaged(file)
        if ((await handle.read(Buffer.alloc(1))).bytesRead > 0) throw damaged(file)
        return
      }
      hash.update(head).update(content)
      yield { kind, content }
    }
  } finally {
    await handle.close()
  }
}

async function readExactly(handle: FileHandle, length: number, file: string): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  let at = 0
  while (at < length) {
    const { bytesRead } = await handle.read(buffer, at, length - at)
    if (bytesRead === 0) throw new CommandError(`The backup ${file} is cut off. Nothing was changed.`)
    at += bytesRead
  }
  return buffer
}

function damaged(file: string) {
  return new CommandError(`The backup ${file} is damaged: its checksum differs. Nothing was changed.`)
}

/** The contents of a backup. The file was read to its end and its checksum is right. */
export interface BackupContents {
  header: BackupHeader
  ending: BackupEnding
  /** Null unless the master keys were included. */
  keys: string[] | null
}

export async function checkBackup(file: string): Promise<BackupContents> {
  const found = new Map<string, Buffer>()
  for await (const { kind, content } of readBackup(file)) if ('HKE'.includes(kind)) found.set(kind, content)
  const [head, end, key] = ['H', 'E', 'K'].map(kind => found.get(kind))
  if (!head || !end) throw damaged(file)
  return {
    header: parse(header, head),
    ending: parse(ending, end),
    keys: key ? parse(keys, key) : null,
  }
}

export function parse<T>(schema: z.ZodType<T>, content: Buffer): T {
  return schema.parse(JSON.parse(content.toString()))
}
