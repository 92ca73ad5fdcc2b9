import { isReason, reasons } from '@waxwing/contract/reasons.ts'
import {
  type MediaType,
  type OpenapiDocument,
  type Operation,
  type Schema,
  nameOf,
  resolve,
} from './document.ts'
import { exampleOf } from './example.ts'
import { resolveParameter } from './request-form.ts'
import type { Route } from './route.ts'

/** One operation as Markdown, with the same facts as on its page. */
export function markdownOfOperation(document: OpenapiDocument, { method, path, operation }: Route): string {
  const { operationId, summary, description } = operation
  const scope = operation['x-scope']
  const parameters = (operation.parameters ?? []).map(each => resolveParameter(document, each))
  const body = operation.requestBody?.content['application/json']
  return [
    `## ${operationId}`,
    `\`${method} ${path}\``,
    summary,
    description,
    scope === 'none' ? 'Needs no credential.' : `Needs the scope \`${scope}\`.`,
    parameters.length > 0
      ? `Parameters:\n\n${parameters.map(each => line(each.name, each.schema, `${each.in}${each.required ? ', required' : ''}`, each.description)).join('\n')}`
      : undefined,
    body?.schema ? `Body:\n\n${markdownOfFields(document, body.schema)}` : undefined,
    responseOf(document, operation),
    `Errors: ${operation['x-error-reasons']
      .filter(isReason)
      .map(reason => `\`${reason}\` (${reasons[reason].status})`)
      .join(', ')}`,
  ]
    .filter(part => part !== undefined && part !== '')
    .join('\n\n')
}

function responseOf(document: OpenapiDocument, operation: Operation): string | undefined {
  const [status, response] = Object.entries(operation.responses).find(([key]) => key.startsWith('2')) ?? []
  if (status === undefined || !response || '$ref' in response) return undefined
  const [[mediaType, media] = ['', {}]] = Object.entries<MediaType>(response.content ?? {})
  if (!media.schema) return `Response ${status}: \`${mediaType}\``
  const example = JSON.stringify(media.example ?? exampleOf(document, media.schema), null, 2)
  return `Response ${status}, ${typeIn(media.schema)}:\n\n\`\`\`json\n${example}\n\`\`\``
}

/** The fields of a schema as a nested list. */
export function markdownOfFields(document: OpenapiDocument, schema: Schema, depth = 0): string {
  const { properties = {}, required = [] } = resolve(document, schema)
  return Object.entries(properties)
    .map(([name, field]) => {
      const inner = objectIn(field)
      const own = line(name, field, required.includes(name) ? 'required' : '', field.description)
      const nested = inner ? `\n${markdownOfFields(document, inner, depth + 1)}` : ''
      return `${'  '.repeat(depth)}${own}${nested}`
    })
    .join('\n')
}

function objectIn(schema: Schema): Schema | undefined {
  if (schema.properties) return schema
  if (schema.items) return objectIn(schema.items)
  return schema.anyOf?.map(objectIn).find(found => found !== undefined)
}

function line(name: string, schema: Schema, mark: string, description = ''): string {
  const facts = [typeIn(schema), mark].filter(fact => fact !== '').join(', ')
  return `- \`${name}\` (${facts})${description === '' ? '' : `: ${description.replaceAll('\n', ' ')}`}`
}

function typeIn(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = nameOf(schema.$ref)
    return `[${name}](/docs/reference/schemas#schema-${name})`
  }
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  if (schema.anyOf) return schema.anyOf.map(typeIn).join(' or ')
  if (schema.items) return `array of ${typeIn(schema.items)}`
  if (schema.enum) return schema.enum.map(value => `\`${JSON.stringify(value)}\``).join(' | ')
  if (Array.isArray(schema.type)) return schema.type.join(' or ')
  return (schema.type === 'string' ? schema.format : undefined) ?? schema.type ?? 'any'
}
