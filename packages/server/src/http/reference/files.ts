import { readFileSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Logger } from '../../kit/log.ts'
import { MODULE_SUFFIX } from '../../kit/module-suffix.ts'
import { type StaticFile, staticFile } from './static-file.ts'

/** A package brings the pages along; in a clone, `npm start` makes them. */
const SITE = new URL(MODULE_SUFFIX === '.ts' ? '../../../../../dist/docs/' : '../../docs/', import.meta.url)
/** Each address with its file, as `scripts/docs/write-site.ts` writes it. */
type Manifest = Record<string, { file: string; type: string }>

/** A page may load its own files and connect to its own origin only; no text ever becomes markup. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const PAGE_HEADERS = {
  'content-security-policy': PAGE_POLICY,
  'cross-origin-opener-policy': 'same-origin',
}

/** Paths of the documentation, of which `*` is any rest. */
export const REFERENCE_PATHS = ['/docs', '/docs/*', '/llms.txt', '/llms-full.txt']

/** A file of the documentation, or the reason why there is none: the site lacks the path, or cannot be read now. */
export type Found = StaticFile | 'no_file' | 'no_pages'

/** The documentation: its pages, and the files that they load. */
export interface Reference {
  find(path: string): Promise<Found>
}

/** The site as it was made once. */
interface Site {
  version: string
  manifest: Manifest
  files: Map<string, Promise<StaticFile>>
}

/**
 * Opens the pages that were made before. A file is read and compressed when it is first asked for. Pages that are made
 * again replace the old ones at the next request. Pages that cannot be read never stop the service: the log reports
 * it, and each request tries again.
 */
export function openReference(log: Logger, folder: URL = SITE): Reference {
  let site: Site | null = null
  let reported = ''
  refresh()
  return {
    async find(path) {
      refresh()
      try {
        return await findIn(site, path)
      } catch {
        // The pages were replaced after the list of files was read.
        site = null
        refresh()
      }
      try {
        return await findIn(site, path)
      } catch (error) {
        report(error)
        site = null
        return 'no_pages'
      }
    },
  }

  /** Reads the list of files if it is a new one. While it cannot be read, files that were read before are still served. */
  function refresh() {
    try {
      const { ino, mtimeMs } = statSync(new URL('site.json', folder))
      const version = `${ino} ${mtimeMs}`
      if (site?.version === version) return
      site = { version, manifest: readManifest(folder), files: new Map() }
    } catch (error) {
      report(error)
    }
  }

  /** Writes a warning, unless it is the same as the one before. */
  function report(error: unknown) {
    const isMissing = site === null && isCode(error, 'ENOENT')
    const warning = isMissing
      ? 'There are no documentation pages, since they were not made: see npm run docs'
      : 'The documentation pages cannot be read. Each request for one tries again'
    if (reported === warning) return
    reported = warning
    log.warn(isMissing ? {} : { error }, warning)
  }

  async function findIn(current: Site | null, path: string): Promise<Found> {
    if (current === null) return 'no_pages'
    const { manifest, files } = current
    if (!Object.hasOwn(manifest, path)) return 'no_file'
    const reading = files.get(path) ?? read(manifest[path]!)
    files.set(path, reading)
    const file = await reading
    reported = ''
    return file
  }

  async function read({ file, type }: Manifest[string]): Promise<StaticFile> {
    const content = await readFile(new URL(file, folder), 'utf8')
    const isPage = type.startsWith('text/html')
    return staticFile(content, { 'content-type': type, ...(isPage ? PAGE_HEADERS : {}) })
  }
}

function readManifest(folder: URL): Manifest {
  const read: unknown = JSON.parse(readFileSync(new URL('site.json', folder), 'utf8'))
  if (typeof read !== 'object' || read === null) throw new Error('The list of files, site.json, is no object')
  // An entry that is not whole fails when its file is read, which is reported the same way.
  return read as Manifest
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
