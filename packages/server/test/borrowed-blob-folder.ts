import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Database } from '../src/database/pool.ts'

interface Borrowed {
  path: string
  users: number
}

/** By the address of the database. */
const borrowed = new Map<string, Borrowed>()

/** The blob folder of every app on this database. It is removed when the last of them ends. */
export function borrowBlobFolder({ address }: Database): { path: string } & AsyncDisposable {
  const name = JSON.stringify(address)
  const folder = borrowed.get(name) ?? {
    path: path.join(tmpdir(), `waxwing-blobs-${randomUUID()}`),
    users: 0,
  }
  borrowed.set(name, folder)
  folder.users += 1
  return {
    path: folder.path,
    async [Symbol.asyncDispose]() {
      folder.users -= 1
      if (folder.users > 0) return
      borrowed.delete(name)
      await rm(folder.path, { recursive: true, force: true })
    },
  }
}
