import { html } from 'hono/html'
import type { OpenapiDocument } from './document.ts'
import { markdownPath } from './layout.ts'
import { type Markup, prose } from './markup.ts'
import type { OperationSection } from './operations.ts'
import type { Page } from './page.ts'

export type ListedPage = Pick<Page, 'path' | 'title' | 'headings' | 'description'>

interface Home {
  document: OpenapiDocument
  sections: readonly OperationSection[]
  pages: readonly { section: string; pages: readonly ListedPage[] }[]
  isStatic: boolean
}

/**
 * The first page: all pages, and every operation and schema under the id that it had when the reference was one page, so
 * that old links lead there.
 */
export async function homePage({ document, sections, pages, isStatic }: Home): Promise<Page> {
  const paragraphs = document.info.description.split('\n\n')
  const content = await html`<h1>Waxwing documentation</h1>
    ${paragraphs.map(paragraph => html`<p>${prose(paragraph)}</p>`)}
    <p>
      For programs, there are <a href="/v1/openapi.json">the OpenAPI document</a> (version
      ${document.info.version} of the interface), each page as Markdown, and
      <a href="/llms.txt">a list of them</a>.
    </p>
    <p class="note no-script">
      Everything can be read without JavaScript.
      ${isStatic ? 'Searching needs it.' : 'Searching and sending requests need it.'}
    </p>
    <div id="guides">${pages.map(listOfPages)}</div>
    <section id="operations">
      <h2>Operations</h2>
      ${sections.map(listOfOperations)}
    </section>
    <section id="schemas">
      <h2>Schemas</h2>
      <ul class="names">
        ${Object.keys(document.components.schemas).map(schemaEntry)}
      </ul>
    </section>
    <p id="errors"><a href="/docs/reference/reasons" data-goes-on>Errors of every operation</a></p>`
  return {
    path: '/docs',
    title: 'Waxwing documentation',
    section: '',
    description: paragraphs[0] ?? '',
    content: content.toString(),
    markdown: homeMarkdown(paragraphs, pages),
    headings: [],
    entries: [],
  }
}

function listOfPages({ section, pages }: Home['pages'][number]): Markup {
  if (pages.length === 0) return ''
  return html`<section>
    <h2>${section}</h2>
    <ul class="pages">
      ${pages.map(
        ({ path, title, description }) =>
          html`<li ${oldId(path)}>
            <a href="${path}">${title}</a> <span class="soft">${description}</span>
          </li>`,
      )}
    </ul>
  </section>`
}

/** The id that guides had in the list of the one page. */
function oldId(path: string): Markup {
  return path.startsWith('/docs/guides/') ? html`id="guide-${path.split('/').at(-1)}"` : ''
}

function listOfOperations({ tag, title, path, routes }: OperationSection): Markup {
  return html`<h3 id="section-${tag.name}"><a href="${path}">${title}</a></h3>
    <ul class="operations">
      ${routes.map(
        ({ method, operation: { operationId, summary } }) =>
          html`<li id="${operationId}">
            <span class="method ${method.toLowerCase()}">${method}</span>
            <a href="${path}#${operationId}" data-goes-on>${summary.replace(/\.$/, '')}</a>
          </li>`,
      )}
    </ul>`
}

function schemaEntry(name: string): Markup {
  // Events have a page of their own.
  const [, event] = /^ChangeEvent\.(.+)$/.exec(name) ?? []
  const target =
    event === undefined
      ? `/docs/reference/schemas#schema-${name}`
      : `/docs/reference/events#${event.replaceAll('.', '')}`
  return html`<li id="schema-${name}"><a href="${target}" data-goes-on>${name}</a></li>`
}

/** The list of all pages as Markdown, also for `/llms.txt`. */
function homeMarkdown(paragraphs: readonly string[], pages: Home['pages']): string {
  return [
    `# Waxwing\n\n> ${paragraphs[0]}`,
    ...paragraphs.slice(1),
    ...pages.flatMap(group =>
      group.pages.length === 0
        ? []
        : [
            `## ${group.section}\n\n${group.pages
              .map(({ title, path, description }) => `- [${title}](${markdownPath(path)}): ${description}`)
              .join('\n')}`,
          ],
    ),
  ].join('\n\n')
}
