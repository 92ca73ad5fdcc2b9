import { readFileSync } from 'node:fs'
import { CONTENTS } from '../../docs/contents.ts'
import { browserFiles } from './browser-files.ts'
import type { OpenapiDocument } from './document.ts'
import { eventsMarkdown } from './events-page.ts'
import { homePage } from './home-page.ts'
import { type NavigationGroup, layOut, markdownPath } from './layout.ts'
import { pathOf } from './links.ts'
import { sectionsOf } from './operations.ts'
import type { Page } from './page.ts'
import { reasonsMarkdown } from './reasons-page.ts'
import { renderMarkdown } from './render-markdown.ts'
import { schemasPage } from './schemas-page.ts'
import { searchIndex } from './search-index.ts'
import { sectionPage } from './section-page.ts'

const ROOT = new URL('../../', import.meta.url)
const DOCS = new URL('docs/', ROOT)

/** A file of the site, by its address on the service. */
export interface SiteFile {
  type: string
  content: string
}

export interface Site {
  pages: readonly Page[]
  files: ReadonlyMap<string, SiteFile>
}

const HTML = 'text/html; charset=utf-8'
const MARKDOWN = 'text/markdown; charset=utf-8'
const PLAIN = 'text/plain; charset=utf-8'

/** Makes all files of the site. `isStatic` is for hosts without the service, where no requests can be sent. */
export async function makeSite({ isStatic = false } = {}): Promise<Site> {
  const openapi = readFileSync(new URL('packages/contract/openapi.json', ROOT), 'utf8')
  const document = JSON.parse(openapi) as OpenapiDocument
  const groups = await makePages(document, isStatic)
  const home = await homePage({ document, sections: sectionsOf(document), pages: groups, isStatic })
  const pages = groups.flatMap(group => group.pages)
  const files = new Map<string, SiteFile>()
  for (const page of [home, ...pages]) {
    const content = await layOut({ page, navigation: groups, isStatic })
    files.set(page.path, { type: HTML, content })
    files.set(markdownPath(page.path), { type: MARKDOWN, content: page.markdown })
    for (const [path, image] of page.images ?? []) files.set(path, { type: 'image/svg+xml', content: image })
  }
  for (const [name, file] of await browserFiles()) files.set(`/docs/${name}`, file)
  files.set('/docs/search.json', { type: 'application/json', content: searchIndex(pages) })
  files.set('/llms.txt', { type: PLAIN, content: home.markdown })
  files.set('/llms-full.txt', { type: PLAIN, content: pages.map(({ markdown }) => markdown).join('\n\n') })
  if (isStatic) files.set('/v1/openapi.json', { type: 'application/json', content: openapi })
  return { pages: [home, ...pages], files }
}

/** All pages but the first, in the order of the table of contents. */
async function makePages(
  document: OpenapiDocument,
  isStatic: boolean,
): Promise<(NavigationGroup & { pages: Page[] })[]> {
  const names = new Set(CONTENTS.flatMap(({ pages }) => pages))
  const render = (name: string, section: string) =>
    renderMarkdown(readFileSync(new URL(`${name}.md`, DOCS), 'utf8'), {
      name,
      path: pathOf(name),
      section,
      names,
      folder: DOCS,
      ...(name === 'commands' ? { kind: 'command' as const } : {}),
    })
  const groups = CONTENTS.map(({ section, pages }) => ({
    section,
    pages: pages.map(name => render(name, section)),
  }))
  const written = groups.flatMap(group => group.pages)
  const sections = sectionsOf(document)
  const made = (name: string, kind: 'reason' | 'event', markdown: string) =>
    renderMarkdown(markdown, {
      name,
      path: `/docs/reference/${name}`,
      section: 'Reference',
      names,
      folder: DOCS,
      kind,
    })
  const reference = [
    ...(await Promise.all(sections.map(section => sectionPage(document, section, { isStatic })))),
    await schemasPage(document),
    made('events', 'event', eventsMarkdown(document, written)),
    made('reasons', 'reason', reasonsMarkdown(sections, written)),
  ]
  return groups.map(group =>
    group.section === 'Reference' ? { ...group, pages: [...group.pages, ...reference] } : group,
  )
}
