import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { MARK_KEY } from '../../src/start/blob-mark.ts'

/** Opens a folder for stored messages, and lists its files, without the mark. */
export async function openBlobFolder() {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-blobs-'))
  return {
    folder,
    files: async () =>
      (await readdir(folder, { recursive: true, withFileTypes: true })).filter(
        entry => entry.isFile() && entry.name !== MARK_KEY,
      ),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
