import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** A folder for stored messages, and the files in it. */
export async function openBlobFolder() {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-blobs-'))
  return {
    folder,
    files: async () =>
      (await readdir(folder, { recursive: true, withFileTypes: true })).filter(entry => entry.isFile()),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
