import { html } from 'hono/html'
import type { OpenapiDocument } from './document.ts'
import { markdownOfFields } from './operation-markdown.ts'
import type { Page } from './page.ts'
import { schemaSection } from './schema.ts'
import { fieldsIn } from './section-page.ts'

const DESCRIPTION = 'The objects of requests and answers that have a name, with their fields.'

/** The page of all named schemas. */
export async function schemasPage(document: OpenapiDocument): Promise<Page> {
  const schemas = Object.entries(document.components.schemas).filter(([name]) => !name.includes('.'))
  const content = await html`<h1>Schemas</h1>
    <p>${DESCRIPTION}</p>
    ${schemas.map(([name, schema]) => schemaSection(name, schema))}`
  return {
    path: '/docs/reference/schemas',
    title: 'Schemas',
    section: 'Reference',
    description: DESCRIPTION,
    content: content.toString(),
    markdown: [
      `# Schemas\n\n${DESCRIPTION}`,
      ...schemas.map(([name, schema]) =>
        [`## ${name}`, schema.description, markdownOfFields(document, schema)]
          .filter(part => part !== undefined && part !== '')
          .join('\n\n'),
      ),
    ].join('\n\n'),
    headings: [],
    entries: [
      { anchor: '', title: 'Schemas', text: DESCRIPTION, kind: 'page' },
      ...schemas.map(([name, schema]) => ({
        anchor: `schema-${name}`,
        title: name,
        names: name,
        text: [
          schema.description ?? '',
          ...fieldsIn(document, schema).map(([field, { description = '' }]) => `${field} ${description}`),
        ].join(' '),
        kind: 'schema' as const,
      })),
    ],
  }
}
