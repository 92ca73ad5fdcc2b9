import { readFileSync } from 'node:fs'

/** The parts of the OpenAPI document from which requests are generated and against which answers are checked. */
export interface Schema {
  $ref?: string
  type?: string
  format?: string
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  propertyNames?: Schema
  additionalProperties?: Schema | boolean
  items?: Schema
  minItems?: number
  maxItems?: number
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  pattern?: string
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  schema: Schema
}

interface Described {
  operationId: string
  'x-error-reasons': string[]
  parameters?: (Parameter | { $ref: string })[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
  responses: Record<string, { $ref?: string; content?: Record<string, { schema?: Schema }> }>
}

export interface Operation {
  id: string
  method: string
  path: string
  reasons: string[]
  parameters: Parameter[]
  body: Schema | null
  /** The path of the schema of an answer's JSON, by status; null if the answer is not JSON. */
  answers: Map<number, string | null>
}

const FILE = new URL('../../../contract/openapi.json', import.meta.url)

// The document is JSON that we generate, and `openapi.test.ts` compares it with the contract.
export const document = JSON.parse(readFileSync(FILE, 'utf8')) as {
  paths: Record<string, Record<string, Described>>
}

/** Resolves a reference in the document. */
export function resolveReference<T>(reference: string): T {
  const steps = reference.replace(/^#\//, '').split('/')
  // The caller asserts the type of the target.
  return steps.reduce<unknown>((at, step) => Object(at)[unescapeStep(step)], document) as T
}

const escapeStep = (step: string) => step.replaceAll('~', '~0').replaceAll('/', '~1')
const unescapeStep = (step: string) => step.replaceAll('~1', '/').replaceAll('~0', '~')

/** Requests with it wait for events, which nobody makes. */
const WAITING = 'waitSeconds'

/** Every operation but streams, whose answers never end. */
export const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, described]) =>
    isStream(described)
      ? []
      : [
          {
            id: described.operationId,
            method: method.toUpperCase(),
            path,
            reasons: described['x-error-reasons'],
            parameters: (described.parameters ?? [])
              .map(one => ('$ref' in one ? resolveReference<Parameter>(one.$ref) : one))
              .filter(({ name }) => name !== WAITING),
            body: described.requestBody?.content['application/json'].schema ?? null,
            answers: answersOf(path, method, described),
          },
        ],
  ),
)

function isStream({ responses }: Described): boolean {
  return Object.values(responses).some(
    ({ content }) => content !== undefined && 'text/event-stream' in content,
  )
}

function answersOf(path: string, method: string, { responses }: Described): Operation['answers'] {
  return new Map(
    Object.entries(responses).map(([status, response]) => {
      const place = response.$ref ?? `#/paths/${escapeStep(path)}/${method}/responses/${status}`
      const { content } = response.$ref
        ? resolveReference<Described['responses'][string]>(response.$ref)
        : response
      const isJson = content?.['application/json'] !== undefined
      return [Number(status), isJson ? `${place}/content/application~1json/schema` : null]
    }),
  )
}
