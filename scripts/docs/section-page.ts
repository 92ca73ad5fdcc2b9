import { html } from 'hono/html'
import type { OpenapiDocument, Schema } from './document.ts'
import { markdownOfOperation } from './operation-markdown.ts'
import { operationSection } from './operation.ts'
import type { OperationSection } from './operations.ts'
import { prose } from './markup.ts'
import type { Page, SearchEntry } from './page.ts'
import type { Route } from './route.ts'

/** The page of one section of the reference. Its operations can be called from it, unless it is for a static host. */
export async function sectionPage(
  document: OpenapiDocument,
  section: OperationSection,
  options: { isStatic: boolean },
): Promise<Page> {
  const { tag, title, path, routes } = section
  const description = tag.description ?? ''
  const content = await html`<h1>${title}</h1>
    <p>${prose(description)}</p>
    ${routes.map(route => operationSection(document, route, options))}`
  return {
    path,
    title,
    section: 'Reference',
    description: description.replaceAll('`', ''),
    content: content.toString(),
    hasForms: true,
    markdown: [
      `# ${title}\n\n${description}`,
      ...routes.map(route => markdownOfOperation(document, route)),
    ].join('\n\n'),
    headings: routes.map(({ operation }) => ({
      id: operation.operationId,
      text: operation.summary.replace(/\.$/, ''),
    })),
    entries: [
      { anchor: '', title, text: description, kind: 'page' },
      ...routes.map(route => entryOf(document, route)),
    ],
  }
}

function entryOf(document: OpenapiDocument, { method, path, operation }: Route): SearchEntry {
  const { operationId, summary, description = '', parameters = [] } = operation
  const named = parameters.flatMap(each => ('name' in each ? [each] : []))
  const body = operation.requestBody?.content['application/json']?.schema
  const fields = body ? fieldsIn(document, body) : []
  return {
    anchor: operationId,
    title: summary.replace(/\.$/, ''),
    names: `${operationId} ${method} ${path}`,
    text: [
      description,
      ...named.map(each => `${each.name} ${each.description ?? ''}`),
      ...fields.map(([name, field]) => `${name} ${field.description ?? ''}`),
    ].join(' '),
    kind: 'operation',
  }
}

/** The fields of an object, of those in it, and of the items of its lists. */
export function fieldsIn(document: OpenapiDocument, schema: Schema, depth = 0): [string, Schema][] {
  const isNamed = schema.$ref !== undefined
  const name = schema.$ref?.split('/').at(-1) ?? ''
  const resolved = isNamed ? (document.components.schemas[name] ?? {}) : schema
  // A named schema has an entry of its own.
  if (isNamed && depth > 0) return []
  const inner = [...(resolved.items ? [resolved.items] : []), ...(resolved.anyOf ?? [])]
  const fields = Object.entries(resolved.properties ?? {})
  return [
    ...fields,
    ...fields.flatMap(([, field]) => fieldsIn(document, field, depth + 1)),
    ...inner.flatMap(each => fieldsIn(document, each, depth + 1)),
  ]
}
