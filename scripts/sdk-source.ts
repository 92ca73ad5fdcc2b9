import { documentation, printComment, type Schema, TypePrinter } from './sdk-schemas.ts'

/** The OpenAPI document, as far as the SDK is made from it. */
export interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; responses: Record<string, Answer> }
}

interface Operation {
  operationId: string
  summary: string
  description?: string
  'x-scope': string
  'x-error-reasons': string[]
  parameters?: ({ $ref: string } | Parameter)[]
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> }
  responses: Record<string, Answer | { $ref: string }>
}

interface Parameter {
  name: string
  in: 'path' | 'query'
  required: boolean
  description?: string
  schema: Schema
}

interface Answer {
  content?: Record<string, { schema?: Schema }>
}

/** An operation with all that its method needs. */
interface Method {
  operation: Operation
  section: string
  name: string
  verb: string
  path: string
  parameters: Parameter[]
  body: Schema | null
  mediaType: string
  answer: Schema | null
}

const HEADER = '// Made by scripts/sdk.ts from the OpenAPI document. Do not edit.\n'
const EVENT_STREAM = 'text/event-stream'
const EVENT = 'ChangeEvent.'

/** The two modules of the SDK that are made: `operations.ts`, which runs, and `types.ts`, which only editors read. */
export function sdkSource(document: Document): { operations: string; types: string } {
  const methods = Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => methodOf(document, path, verb, operation)),
  )
  const called = methods.filter(({ mediaType }) => mediaType !== EVENT_STREAM)
  return { operations: printTable(called), types: printTypes(document, called) }
}

function methodOf(document: Document, path: string, verb: string, operation: Operation): Method {
  const [section = '', name = ''] = operation.operationId.split('.')
  const parameters = (operation.parameters ?? []).filter(each => 'name' in each)
  const given = operation.requestBody?.content['application/json']?.schema ?? null
  const body = given?.$ref ? (document.components.schemas[given.$ref.split('/').at(-1)!] ?? null) : given
  const names = [...parameters.map(each => each.name), ...Object.keys(body?.properties ?? {})]
  const twice = names.find((each, at) => names.indexOf(each) !== at)
  if (twice !== undefined) throw new Error(`${operation.operationId} has two fields named ${twice}`)
  if (body && (verb === 'get' || verb === 'delete'))
    throw new Error(`${operation.operationId} would send its query as a body`)
  if (takesKey(operation) !== (verb === 'post' && !path.startsWith('/v1/hosted/')))
    throw new Error(`The client would send ${operation.operationId} with a wrong notion of its key`)
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1]
  if (!success || !('content' in success) || !success.content)
    throw new Error(`${operation.operationId} has no answer`)
  const [[mediaType, { schema }] = ['', {}]] = Object.entries(success.content)
  return {
    operation,
    section,
    name,
    verb: verb.toUpperCase(),
    path,
    parameters,
    body,
    mediaType,
    answer: schema ?? null,
  }
}

/** Whether a method reads a list page by page. The change feed never ends, so it is none. */
function isList(method: Method): boolean {
  return (
    method.operation.operationId !== 'changes.list' && method.parameters.some(({ name }) => name === 'cursor')
  )
}

function isDownload({ mediaType }: Method): boolean {
  return mediaType !== 'application/json'
}

function bySection(methods: Method[]): [string, Method[]][] {
  return [...Map.groupBy(methods, ({ section }) => section)].toSorted(([one], [other]) =>
    one < other ? -1 : 1,
  )
}

function printTable(methods: Method[]): string {
  const sections = bySection(methods).map(([section, some]) => {
    const [{ name } = { name: '' }] = some
    if (name === '') return `  ${section}: '${signature(some[0]!)}',\n`
    return `  ${section}: {\n${some.map(each => `    ${each.name}: '${signature(each)}',\n`).join('')}  },\n`
  })
  return `${HEADER}
/**
 * Each method as a text: the HTTP method; the path below \`/v1\`, with the names of a query that goes beside a body
 * after \`?\`; \`*\` for a list that is read page by page, \`=\` for a download.
 */
export const OPERATIONS = {
${sections.join('')}} as const
`
}

function signature(method: Method): string {
  const query = method.parameters.filter(each => each.in === 'query').map(({ name }) => name)
  const hasBody = method.verb !== 'GET' && method.verb !== 'DELETE'
  const beside = hasBody && query.length > 0 ? `?${query.join(',')}` : ''
  const kind = isList(method) ? ' *' : isDownload(method) ? ' =' : ''
  return `${method.verb} ${method.path.replace(/^\/v1/, '')}${beside}${kind}`
}

function printTypes(document: Document, methods: Method[]): string {
  const printer = new TypePrinter(document.components.schemas)
  const inputs: string[] = []
  const common = commonReasons(methods)
  const sections = bySection(methods).map(([section, some]) => {
    const printed = some.map(method => printMethod(printer, method, common, inputs))
    return some[0]!.name === '' ? printed.join('') : `${section}: {\n${printed.join('')}}\n`
  })
  const events = printEvents(printer, document)
  const data = printReasonData(printer, document)
  const reasons = unionOf(methods.flatMap(({ operation }) => operation['x-error-reasons']))
  return indented(`${HEADER}import type { Call, Download, List } from './call.ts'
import type { CallOptions, ConditionalOptions, PostOptions } from './options.ts'

/** The methods of a client, by section. */
export interface Operations {
${sections.join('')}}

/** The reasons that operations may answer today. */
export type Reason = ${reasons}

/** The \`data\` of errors, for reasons that have some. */
export interface ReasonData {
${data}}

/** The \`data\` of events, by type. */
export interface EventData {
${events}}

${inputs.join('\n')}
${printer.declarations()}`)
}

/** Indents by braces. Comments have theirs at the beginning of a line only. */
function indented(text: string): string {
  let depth = 0
  return text
    .split('\n')
    .map(line => {
      const isComment = /^(?:\/\*\*| \*)/.test(line)
      if (!isComment && line.startsWith('}')) depth--
      const printed = line === '' ? '' : `${'  '.repeat(depth)}${line.trimEnd()}`
      if (!isComment && line.endsWith('{')) depth++
      return printed
    })
    .join('\n')
}

/** The reasons of every operation that takes a credential, and of every POST, which methods need not repeat. */
function commonReasons(methods: Method[]): Set<string> {
  const called = methods.filter(({ operation }) => !['none', ''].includes(operation['x-scope']))
  const posts = called.filter(({ verb }) => verb === 'POST')
  return new Set([...reasonsOfAll(called), ...reasonsOfAll(posts)])
}

function reasonsOfAll(methods: Method[]): string[] {
  const [first, ...others] = methods.map(({ operation }) => operation['x-error-reasons'])
  return (first ?? []).filter(reason => others.every(some => some.includes(reason)))
}

function printMethod(printer: TypePrinter, method: Method, common: Set<string>, inputs: string[]): string {
  const { operation, section, name, body, parameters } = method
  const own = operation['x-error-reasons'].filter(each => !common.has(each)).map(each => `\`${each}\``)
  const options = operation.parameters?.some(each => '$ref' in each && each.$ref.endsWith('/If-Match'))
    ? method.verb === 'POST'
      ? 'PostOptions & ConditionalOptions'
      : 'ConditionalOptions'
    : takesKey(operation)
      ? 'PostOptions'
      : 'CallOptions'
  const comment = printComment(
    [
      operation.summary,
      operation.description,
      `Scope: \`${operation['x-scope']}\`.${own.length === 0 ? '' : ` Reasons: ${own.join(', ')}.`}`,
    ]
      .filter(line => line !== undefined)
      .join('\n\n'),
  )
  const fields = parameters.map(({ description, ...each }) => ({
    ...each,
    schema: description === undefined ? each.schema : { ...each.schema, description },
  }))
  const input = `${pascal(section)}${pascal(name)}Input`
  const isOptional = !fields.some(each => each.required) && !body?.required?.length
  const hasFields = fields.length > 0 || body !== null
  if (hasFields) {
    const path = fields
      .map(
        each =>
          `${printComment(documentation(each.schema))}${each.name}${each.required ? '' : '?'}: ${printer.type(each.schema, 'input')}\n`,
      )
      .join('')
    inputs.push(`export interface ${input} {\n${path}${body ? printer.fields(body, 'input') : ''}}\n`)
  }
  const given = hasFields ? `input${isOptional ? '?' : ''}: ${input}, ` : 'input?: Record<string, never>, '
  return `${comment}${name === '' ? section : name}(${given}options?: ${options}): ${printAnswer(printer, method)}\n`
}

function takesKey(operation: Operation): boolean {
  return operation.parameters?.some(each => '$ref' in each && each.$ref.endsWith('/Idempotency-Key')) === true
}

function printAnswer(printer: TypePrinter, method: Method): string {
  if (isDownload(method)) return 'Call<Download>'
  const type = printer.type(method.answer ?? {}, 'answer')
  return isList(method) ? `List<${type}>` : `Call<${type}>`
}

function printEvents(printer: TypePrinter, { components }: Document): string {
  return Object.entries(components.schemas)
    .filter(([name]) => name.startsWith(EVENT))
    .map(([name, { properties }]) => {
      const data = properties?.['data'] ?? {}
      return `${JSON.stringify(name.slice(EVENT.length))}: ${printer.type(data, 'answer')}\n`
    })
    .join('')
}

/** Errors that bring data say so in a variant of their answer: the reason as a constant, the data beside it. */
function printReasonData(printer: TypePrinter, document: Document): string {
  const found = new Map<string, string>()
  const answers = [
    ...Object.values(document.components.responses),
    ...Object.values(document.paths).flatMap(verbs =>
      Object.values(verbs).flatMap(({ responses }) => Object.values(responses)),
    ),
  ]
  for (const answer of answers) {
    const schema = 'content' in answer ? answer.content?.['application/json']?.schema : undefined
    for (const variant of schema?.anyOf ?? (schema ? [schema] : [])) {
      const { code, data } = variant.properties ?? {}
      if (typeof code?.const !== 'string' || !data || !variant.required?.includes('data')) continue
      found.set(code.const, printer.type(data, 'answer'))
    }
  }
  return [...found]
    .toSorted()
    .map(([code, type]) => `${code}: ${type}\n`)
    .join('')
}

function unionOf(words: string[]): string {
  return [...new Set(words)]
    .toSorted()
    .map(word => JSON.stringify(word))
    .join(' | ')
}

function pascal(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1)
}
