import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import openapiDocument from '@waxwing/contract/openapi.json' with { type: 'json' }
import type { AnswerHeaders } from '../answer.ts'
import type { OpenapiDocument } from './document.ts'
import { renderReference } from './page.ts'

/** Something that is the same for everybody until the program is another one. */
export interface StaticFile {
  headers: AnswerHeaders
  content: string
}

const BROWSER_FILES = {
  'reference.js': 'text/javascript; charset=utf-8',
  'request.js': 'text/javascript; charset=utf-8',
  'answer.js': 'text/javascript; charset=utf-8',
  'reference.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
}

/** The page may load its own files and speak to its own origin, and nothing else; no text ever becomes markup. */
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

/** The paths of the page and of what it loads. */
export const REFERENCE_PATHS = ['/docs', ...Object.keys(BROWSER_FILES).map(name => `/docs/${name}`)]

/** Makes the page and reads its files, by path. */
export async function makeReference(): Promise<Map<string, StaticFile>> {
  // The document is generated from the contract; these are the parts of it that are looked at.
  const document = openapiDocument as unknown as OpenapiDocument
  const page = await renderReference(document)
  const files = Object.entries(BROWSER_FILES).map(([name, type]): [string, StaticFile] => [
    `/docs/${name}`,
    staticFile(readFileSync(new URL(`browser/${name}`, import.meta.url), 'utf8'), { 'content-type': type }),
  ])
  const pageHeaders = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': PAGE_POLICY,
    'cross-origin-opener-policy': 'same-origin',
  }
  return new Map([['/docs', staticFile(page, pageHeaders)], ...files])
}

export function staticFile(content: string, headers: AnswerHeaders): StaticFile {
  const digest = createHash('sha256').update(content).digest('base64url').slice(0, 22)
  return { content, headers: { 'cache-control': 'no-cache', etag: `"${digest}"`, ...headers } }
}

/** Answers 304 where the caller has it already (RFC 9110 section 13.1.2: compared weakly, any of a list, or `*`). */
export function answerFile(request: Request, headers: AnswerHeaders, file: StaticFile): Response {
  const all = { ...headers, ...file.headers }
  const asked = request.headers.get('if-none-match') ?? ''
  const known = new Set(asked.split(',').map(tag => tag.trim().replace(/^W\//, '')))
  const isKnown = known.has(file.headers['etag'] ?? '') || known.has('*')
  return isKnown
    ? new Response(null, { status: 304, headers: all })
    : new Response(file.content, { headers: all })
}
