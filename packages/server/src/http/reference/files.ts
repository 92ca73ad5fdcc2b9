import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
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

/** The documentation: its pages, and the files that they load. */
export interface Reference {
  /** The file at a path; null if there is none. */
  find(path: string): Promise<StaticFile | null>
}

/** Opens the pages that were made before; null if there are none. A file is read and compressed when it is first asked for. */
export function openReference(site: URL = SITE): Reference | null {
  const manifest = readManifest(site)
  if (manifest === null) return null
  const files = new Map<string, Promise<StaticFile>>()
  return {
    async find(path) {
      if (!Object.hasOwn(manifest, path)) return null
      const file = files.get(path) ?? read(manifest[path]!)
      files.set(path, file)
      return file.catch(error => {
        files.delete(path)
        throw error
      })
    },
  }

  async function read({ file, type }: Manifest[string]): Promise<StaticFile> {
    const content = await readFile(new URL(file, site), 'utf8')
    const isPage = type.startsWith('text/html')
    return staticFile(content, { 'content-type': type, ...(isPage ? PAGE_HEADERS : {}) })
  }
}

function readManifest(site: URL): Manifest | null {
  try {
    return JSON.parse(readFileSync(new URL('site.json', site), 'utf8')) as Manifest
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}
