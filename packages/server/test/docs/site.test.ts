import openapiDocument from '@waxwing/contract/openapi.json' with { type: 'json' }
import { reasons } from '@waxwing/contract/reasons.ts'
import { EVENT_TYPES } from '@waxwing/contract/events.ts'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, expect, test } from 'vitest'
import { CONTENTS } from '../../../../docs/contents.ts'
import { type Site, makeSite } from '../../../../scripts/docs/site.ts'

const PAGE_BYTES_MAX = 60_000
const INDEX_BYTES_MAX = 150_000
/** Pages for those who work on the service itself. */
const UNLISTED = new Set(['ARCHITECTURE'])
/** Addresses that the service has besides the site. */
const OTHERS = new Set(['/v1/openapi.json'])
const DOCS = path.resolve(import.meta.dirname, '../../../../docs')

let site: Site
beforeAll(async () => void (site = await makeSite()))

const isPage = (type: string) => type.startsWith('text/html')
const idsIn = (html: string) => new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id))

test('the table of contents lists every page of docs/, once', () => {
  const listed = CONTENTS.flatMap(({ pages }) => pages)
  const found = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.md') && !file.startsWith('decisions/'))
    .map(file => file.slice(0, -'.md'.length))
  expect(listed.toSorted()).toEqual(found.filter(name => !UNLISTED.has(name)).toSorted())
})

test('no link or anchor is dead', () => {
  const ids = new Map(
    [...site.files].flatMap(([at, { type, content }]) => (isPage(type) ? [[at, idsIn(content)]] : [])),
  )
  const dead: string[] = []
  for (const [at, { type, content }] of site.files) {
    if (!isPage(type)) continue
    for (const [, href = ''] of content.matchAll(/\s(?:href|src)="([^"]+)"/g)) {
      const { pathname, hash, origin } = new URL(href.replaceAll('&amp;', '&'), `http://site${at}`)
      if (origin !== 'http://site' || OTHERS.has(pathname)) continue
      const isThere = site.files.has(pathname)
      const hasAnchor = hash === '' || ids.get(pathname)?.has(decodeURIComponent(hash.slice(1))) === true
      if (!isThere || !hasAnchor) dead.push(`${at}: ${href}`)
    }
  }
  expect(dead).toEqual([])
})

test('no page has an id twice', () => {
  const twice = [...site.files].flatMap(([at, { type, content }]) => {
    if (!isPage(type)) return []
    const all = [...content.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id)
    return all.filter((id, index) => all.indexOf(id) !== index).map(id => `${at}#${id}`)
  })
  expect(twice).toEqual([])
})

test('the search leads to places that exist', () => {
  const missing = site.pages.flatMap(({ path: at, entries }) => {
    const ids = idsIn(site.files.get(at)?.content ?? '')
    return entries
      .filter(({ anchor }) => anchor !== '' && !ids.has(anchor))
      .map(({ anchor }) => `${at}#${anchor}`)
  })
  expect(missing).toEqual([])
})

test('each operation is on the page of its section', () => {
  const missing = Object.values(openapiDocument.paths).flatMap(methods =>
    Object.values(methods).flatMap(({ operationId, tags: [section] }) => {
      const ids = idsIn(site.files.get(`/docs/reference/${section}`)?.content ?? '')
      return ids.has(operationId) ? [] : [operationId]
    }),
  )
  expect(missing).toEqual([])
})

test('the first page has every operation and schema under its old id', () => {
  const ids = idsIn(site.files.get('/docs')?.content ?? '')
  const operations = Object.values(openapiDocument.paths).flatMap(methods =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  const schemas = Object.keys(openapiDocument.components.schemas).map(name => `schema-${name}`)
  const sections = openapiDocument.tags.map(({ name }) => `section-${name}`)
  const old = [...operations, ...schemas, ...sections, 'guides', 'errors', 'schemas']
  expect(old.filter(id => !ids.has(id))).toEqual([])
})

test('every reason and event has a place of its own', () => {
  const of = (name: string) => idsIn(site.files.get(`/docs/reference/${name}`)?.content ?? '')
  expect(Object.keys(reasons).filter(name => !of('reasons').has(name))).toEqual([])
  expect(EVENT_TYPES.filter(type => !of('events').has(type.replaceAll('.', '')))).toEqual([])
})

test('pages and the index are small', () => {
  const sizes = [...site.files].map(([at, { type, content }]) => ({
    at,
    type,
    bytes: gzipSync(content).length,
  }))
  const large = sizes.filter(({ at, type, bytes }) =>
    at === '/docs/search.json' ? bytes > INDEX_BYTES_MAX : isPage(type) && bytes > PAGE_BYTES_MAX,
  )
  expect(large).toEqual([])
})

test('each page is there as Markdown, and in the list for language models', () => {
  const list = site.files.get('/llms.txt')?.content ?? ''
  const all = site.files.get('/llms-full.txt')?.content ?? ''
  for (const { path: at, title, markdown } of site.pages.filter(page => page.path !== '/docs')) {
    expect(site.files.get(`${at}.md`)).toEqual({ type: 'text/markdown; charset=utf-8', content: markdown })
    expect(list).toContain(`- [${title}](${at}.md): `)
    expect(all).toContain(markdown)
    expect(markdown.startsWith(`# ${title}\n`)).toBe(true)
  }
})

test('a site for other hosts has its policy in its pages, and requests as code instead of forms', async () => {
  const { files } = await makeSite({ isStatic: true })
  const accounts = files.get('/docs/reference/accounts')?.content
  expect(accounts).toContain('http-equiv="Content-Security-Policy"')
  expect(accounts).toMatch(/<pre [^>]*data-language="bash"><code>curl -i .*127\.0\.0\.1:8025\/v1\/accounts/)
  expect(files.get('/v1/openapi.json')?.content).toContain('"openapi"')
  const controls = [...files]
    .filter(([, { type }]) => isPage(type))
    .flatMap(([at, { content }]) =>
      [...content.matchAll(/<(?:form|input|select|textarea|button)\s[^>]*>/g)].map(([tag]) => `${at} ${tag}`),
    )
  expect(controls.filter(control => !control.includes('id="site-search"'))).toEqual([])
  const unfilled = [...files].filter(([, { content }]) =>
    /127\.0\.0\.1:8025[^\s<]*(?:\{|\/\/|%E2)/.test(content),
  )
  expect(unfilled.map(([at]) => at).filter(at => at.startsWith('/docs/reference/'))).toEqual([])
})
