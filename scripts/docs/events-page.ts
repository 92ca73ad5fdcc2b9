import { EVENT_TYPES, type EventType } from '@waxwing/contract/events.ts'
import { type OpenapiDocument, type Schema, resolve } from './document.ts'
import { EVENT_TEXTS } from './event-texts.ts'
import { exampleOf } from './example.ts'
import { markdownOfFields } from './operation-markdown.ts'
import type { Page } from './page.ts'

const DESCRIPTION = 'Every event of the change feed and of webhooks, with its data.'

/** The page of all types of events, as Markdown. */
export function eventsMarkdown(document: OpenapiDocument, pages: readonly Page[]): string {
  return [
    `# Events\n\n${DESCRIPTION}`,
    'Each has an `id`, a `type`, an `accountId` and a time, beside its `data`: see [the change feed](change-feed.md), by which programs read events, and [webhooks](webhooks.md), which bring them.',
    ...EVENT_TYPES.map(type => eventMarkdown(type, document, pages)),
  ].join('\n\n')
}

function eventMarkdown(type: EventType, document: OpenapiDocument, pages: readonly Page[]): string {
  const schema = document.components.schemas[`ChangeEvent.${type}`]
  const data: Schema = schema?.properties?.['data'] ?? {}
  const fields = markdownOfFields(document, resolve(document, data))
  const mentioned = pages.filter(({ markdown }) => markdown.includes(`\`${type}\``))
  return [
    `## ${type}`,
    EVENT_TEXTS[type],
    fields === '' ? '' : `Its \`data\`:\n\n${fields}`,
    fields === '' ? '' : `\`\`\`json\n${exampleText(document, data)}\n\`\`\``,
    mentioned.length > 0
      ? `**Explained in:** ${mentioned.map(({ title, path }) => `[${title}](${path})`).join(', ')}`
      : '',
  ]
    .filter(part => part !== '')
    .join('\n\n')
}

/** An example of the data of an event, in which whole objects that have a schema of their own are left out. */
function exampleText(document: OpenapiDocument, data: Schema): string {
  const { properties = {} } = resolve(document, data)
  const shown = Object.entries(properties).map(([name, field]) => [
    name,
    field.$ref === undefined && field.items?.$ref === undefined
      ? exampleOf(document, field)
      : field.items
        ? ['…']
        : '…',
  ])
  return JSON.stringify(Object.fromEntries(shown), null, 2).replaceAll('"…"', '{…}')
}
