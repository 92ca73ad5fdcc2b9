import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Opens a folder for stored messages, and lists its files. */
export async function openBlobFolder() {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-blobs-'))
  return {
    folder,
    files: async () =>
      (await readdir(folder, { recursive: true, withFileTypes: true })).filter(entry => entry.isFile()),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
