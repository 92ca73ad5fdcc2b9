import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { MANIFEST } from './freshness.ts'
import { makeSite, type SiteFile } from './site.ts'

/**
 * Makes the site and puts it in place of an earlier one, which is deleted with all that is in its folder. Two processes
 * may do so at the same time. For a moment between the two renames there is no folder, so that a service that reads then
 * tries again.
 */
export async function writeSite(folder: string): Promise<void> {
  const { files } = await makeSite()
  const unfinished = `${folder}.${randomUUID()}`
  try {
    for (const [address, file] of files) {
      const target = path.join(unfinished, fileOf(address, file))
      await mkdir(path.dirname(target), { recursive: true })
      await writeFile(target, file.content)
    }
    await writeFile(path.join(unfinished, MANIFEST), manifestOf(files))
    await replace(folder, unfinished)
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
}

async function replace(folder: string, finished: string) {
  const earlier = `${folder}.${randomUUID()}`
  try {
    await rename(folder, earlier)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
  try {
    await rename(finished, folder)
  } catch (error) {
    // Another process was quicker.
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error
  }
  await rm(earlier, { recursive: true, force: true })
}

/** Each address with its file and media type. */
function manifestOf(files: ReadonlyMap<string, SiteFile>): string {
  const listed = [...files].map(([address, file]) => [
    address,
    { file: fileOf(address, file), type: file.type },
  ])
  return `${JSON.stringify(Object.fromEntries(listed))}\n`
}

/** The place of a file below the root of a host, which serves `index.html` for a folder. */
export function fileOf(address: string, { type }: SiteFile): string {
  return type.startsWith('text/html') ? `${address.slice(1)}/index.html` : address.slice(1)
}

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
