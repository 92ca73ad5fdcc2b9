import { globSync, statSync } from 'node:fs'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '../..')

/** The folder from which the service of a clone serves its pages. */
export const SITE = path.join(ROOT, 'dist/docs')
/** The list of files of the site, by which the service finds them. It is written last. */
export const MANIFEST = 'site.json'

/** Files and folders that the site is made from. A folder changes when one of its files comes or goes. */
const SOURCES = [
  'docs/**',
  'scripts/docs.ts',
  'scripts/docs/**',
  'package-lock.json',
  'packages/contract/openapi.json',
  'packages/contract/src/{events,reasons}.ts',
]

/** Whether a source is newer than the pages, or there are none. */
export function isOutdated(): boolean {
  const made = statSync(path.join(SITE, MANIFEST), { throwIfNoEntry: false })
  if (!made) return true
  return globSync(SOURCES, { cwd: ROOT }).some(file => {
    const source = statSync(path.join(ROOT, file), { throwIfNoEntry: false })
    return source !== undefined && source.mtimeMs > made.mtimeMs
  })
}
