import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { marked, type Token, type Tokens } from 'marked'
import { expect, test } from 'vitest'
import { EVENTS, OPERATIONS, WINGS } from '../../../../docs/coverage.ts'
import { namesOf, PLAYS } from './plays.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
const DOCS = path.join(ROOT, 'docs')

/** The addresses of the headings of a page. */
async function readAnchors(page: string): Promise<Set<string>> {
  const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading'
  const headings = marked.lexer(await readFile(page, 'utf8')).filter(isHeading)
  return new Set(
    headings.map(({ text }) =>
      text
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(/\s/g, '-'),
    ),
  )
}

/** Whether a page, and its heading if one is named, can be opened. */
async function isThere(page: string, anchor: string | undefined): Promise<boolean> {
  return existsSync(page) && (anchor === undefined || (await readAnchors(page)).has(anchor))
}

test('every operation and event has a page that exists', async () => {
  const missing: string[] = []
  for (const [name, place] of Object.entries({ ...OPERATIONS, ...EVENTS })) {
    const [page = '', anchor] = place.split('#')
    if (!(await isThere(path.join(DOCS, `${page}.md`), anchor))) missing.push(`${name}: ${place}`)
  }
  expect(missing).toEqual([])
})

test('the page of an event names it', async () => {
  const silent: string[] = []
  for (const [type, place] of Object.entries(EVENTS)) {
    const page = await readFile(path.join(DOCS, `${place.split('#')[0]}.md`), 'utf8')
    if (!page.includes(type)) silent.push(`${type}: ${place}`)
  }
  expect(silent).toEqual([])
})

test('every wing has a tried example', async () => {
  const wings = await readdir(path.join(ROOT, 'packages/server/src/features'))
  expect(Object.keys(WINGS).toSorted()).toEqual(wings.toSorted())
  const tried = PLAYS.flatMap(({ job, scenes }) => scenes.flatMap(namesOf).map(name => `${job}/${name}`))
  for (const example of Object.values(WINGS)) expect(tried).toContain(example)
})

test('every link of a job leads to a page and a heading', async () => {
  const dead: string[] = []
  for (const { job } of PLAYS) {
    const file = path.join(DOCS, 'jobs', `${job}.md`)
    const links: string[] = []
    marked.walkTokens(marked.lexer(await readFile(file, 'utf8')), token => {
      if (token.type === 'link') links.push(token.href as string)
    })
    for (const link of links) {
      if (/^https?:/.test(link)) continue
      const [page = '', anchor] = link.split('#')
      const target = page === '' ? file : path.resolve(path.dirname(file), page)
      if (!(await isThere(target, anchor))) dead.push(`${job}: ${link}`)
    }
  }
  expect(dead).toEqual([])
})
