import { mkdir, readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { makeSite } from './site.ts'
import { fileOf, hasCode } from './write-site.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
/** Lists the files that an export wrote, one a line. A folder without it belongs to somebody else. */
export const EXPORT_MARKER = '.waxwing-docs'

/**
 * Why the site must not be written to a folder; null if it may. Only a folder that is new, empty or from an earlier export
 * is allowed, so that a mistyped name costs nothing.
 */
export async function refusalOf(folder: string): Promise<string | null> {
  if (folder.trim() === '') return 'The value of --out is empty. Name a folder.'
  const target = await existingPath(path.resolve(folder))
  const fromTarget = path.relative(target, await realpath(ROOT))
  if (fromTarget !== '..' && !fromTarget.startsWith(`..${path.sep}`))
    return `${folder} holds this clone of Waxwing. Name a folder for the pages alone.`
  const held = await entriesIn(target)
  return held.length === 0 || held.includes(EXPORT_MARKER)
    ? null
    : `${folder} is not empty, and this command did not make it. Name a new folder. To have pages beside the files that it holds, create an empty file ${EXPORT_MARKER} in it first: files with the names of pages are overwritten then.`
}

/**
 * Writes the site for hosts without the service: the root of the folder is the root of the host. Files of an earlier
 * export that are no longer made are removed. All others stay, such as those of git.
 */
export async function exportSite(folder: string): Promise<void> {
  const { files } = await makeSite({ isStatic: true })
  const made = new Map([...files].map(([address, file]) => [fileOf(address, file), file.content]))
  const earlier = await exportedFiles(folder)
  const mark = (names: Iterable<string>) =>
    writeFile(path.join(folder, EXPORT_MARKER), `${[...names].join('\n')}\n`)
  await mkdir(folder, { recursive: true })
  // An export that is interrupted can be repeated.
  await mark(new Set([...earlier, ...made.keys()]))
  for (const [name, content] of made) {
    const target = path.join(folder, name)
    await mkdir(path.dirname(target), { recursive: true })
    await writeFile(target, content)
  }
  for (const name of earlier) {
    if (!made.has(name)) await rm(path.join(folder, name), { force: true })
  }
  await mark(made.keys())
}

/** The files of an earlier export, of which none is outside of the folder. */
async function exportedFiles(folder: string): Promise<string[]> {
  try {
    const text = await readFile(path.join(folder, EXPORT_MARKER), 'utf8')
    return text.split('\n').filter(name => /^(?:docs|v1)\/|^llms/.test(name) && !name.includes('..'))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}

/** The path without symbolic links, as far as it exists. */
async function existingPath(folder: string): Promise<string> {
  try {
    return await realpath(folder)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return folder
    throw error
  }
}

async function entriesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}
