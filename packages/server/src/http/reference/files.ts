import { readFileSync } from 'node:fs'
import openapiDocument from '@waxwing/contract/openapi.json' with { type: 'json' }
import type { OpenapiDocument } from './document.ts'
import { GUIDES, readGuides, renderGuide } from './guides.ts'
import { renderReference } from './page.ts'
import { type StaticFile, staticFile } from './static-file.ts'

const BROWSER_FILES = {
  'confirm.js': 'text/javascript; charset=utf-8',
  'credential.js': 'text/javascript; charset=utf-8',
  'elements.js': 'text/javascript; charset=utf-8',
  'guide.js': 'text/javascript; charset=utf-8',
  'json.js': 'text/javascript; charset=utf-8',
  'location.js': 'text/javascript; charset=utf-8',
  'reference.js': 'text/javascript; charset=utf-8',
  'request.js': 'text/javascript; charset=utf-8',
  'response.js': 'text/javascript; charset=utf-8',
  'search.js': 'text/javascript; charset=utf-8',
  'snippets.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'reference.css': 'text/css; charset=utf-8',
  'dialogs.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
}

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
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': PAGE_POLICY,
  'cross-origin-opener-policy': 'same-origin',
}

const guidePath = (name: string) => `/docs/guides/${name}`

/** The paths of the reference, the guides and the files that they load. */
export const REFERENCE_PATHS = [
  '/docs',
  ...GUIDES.map(guidePath),
  ...Object.keys(BROWSER_FILES).map(name => `/docs/${name}`),
]

/** Renders the pages and reads their files. Keys are paths. */
export async function makeReference(): Promise<Map<string, StaticFile>> {
  // The document is generated from the contract. This type covers the parts that the page reads.
  const document = openapiDocument as unknown as OpenapiDocument
  const guides = readGuides()
  const files = new Map<string, StaticFile>()
  files.set('/docs', staticFile(await renderReference(document, guides), PAGE_HEADERS))
  for (const guide of guides) {
    files.set(guidePath(guide.name), staticFile(await renderGuide(guide, guides), PAGE_HEADERS))
  }
  for (const [name, type] of Object.entries(BROWSER_FILES)) {
    const content = readFileSync(new URL(`browser/${name}`, import.meta.url), 'utf8')
    files.set(`/docs/${name}`, staticFile(content, { 'content-type': type }))
  }
  return files
}
