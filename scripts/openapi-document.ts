import { z } from 'zod'
import { contract } from '@waxwing/contract/contract.ts'
import { eventData } from '@waxwing/contract/events.ts'
import { bodyExamples, schemaExamples } from '@waxwing/contract/examples.ts'
import { type OperationMeta, takesIdempotencyKey } from '@waxwing/contract/operation.ts'
import { COMMON_REASONS, type Reason, dataSchemaOf, reasons } from '@waxwing/contract/reasons.ts'
import { sections } from '@waxwing/contract/sections.ts'
import { EVENT_STREAM } from '@waxwing/contract/shapes.ts'
import { DESCRIPTION, ERROR, HEADERS, IDEMPOTENCY_KEY, IF_MATCH, LAST_EVENT_ID } from './openapi-parts.ts'
import { describeWebhooks } from './openapi-webhooks.ts'

type Json = { [name: string]: unknown }

/** The properties of an operation that are read here, whatever its types. */
interface Operation {
  '~orpc': {
    meta: OperationMeta
    route: { summary?: string; description?: string }
    inputSchema?: z.ZodObject<{ params: z.ZodObject; query: z.ZodObject; body: z.ZodObject }>
    outputSchema?: z.ZodType
  }
}

/** The version of the interface, which changes only with its path prefix. */
const INTERFACE_VERSION = '1.0.0'

/** Generates the OpenAPI 3.1 document of the contract. The same contract always gives the same text. */
export function openapiDocument(): Json {
  const schemas: Json = { Error: ERROR }
  const write = schemaWriter(schemas)
  const paths: { [path: string]: Json } = {}
  for (const [section, operations] of Object.entries<Record<string, Operation>>(contract)) {
    for (const [name, operation] of Object.entries(operations)) {
      const { path, method } = operation['~orpc'].meta
      paths[path] = {
        ...paths[path],
        [method.toLowerCase()]: describeOperation(section, name, operation, write),
      }
    }
  }
  for (const [type, data] of Object.entries(eventData)) {
    schemas[`ChangeEvent.${type}`] = {
      allOf: [{ $ref: '#/components/schemas/ChangeEvent' }],
      properties: { type: { const: type }, data: write(data) },
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Waxwing',
      version: INTERFACE_VERSION,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The service that this document comes from.' }],
    security: [{ bearer: [] }],
    tags: [
      ...Object.entries(sections).map(([name, { title, description }]) => ({
        name,
        'x-displayName': title,
        description,
      })),
      { name: 'openapi', 'x-displayName': 'OpenAPI', description: 'This interface, for programs.' },
    ],
    paths: { ...paths, '/v1/openapi.json': { get: DOCUMENT_OPERATION } },
    webhooks: describeWebhooks(),
    components: {
      schemas: Object.fromEntries(
        Object.entries(schemas)
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .map(([name, schema]) => [name, withExample(name, schema)]),
      ),
      responses: commonResponses(write),
      parameters: {
        'Idempotency-Key': IDEMPOTENCY_KEY,
        'If-Match': IF_MATCH,
        'Last-Event-ID': LAST_EVENT_ID,
      },
      headers: HEADERS,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An API key (`wk_…`) or an account token (`wat_…`). `x-scope` names the scope that it needs.',
        },
      },
    },
  }
}

/** Headers of every answer, of every counted answer, and of temporary refusals. */
const BASIC_HEADERS = ['X-Request-Id'] as const
const COUNTED_HEADERS = [
  ...BASIC_HEADERS,
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
] as const
const RETRY_STATUSES = new Set([429, 503])

function headersOf(names: readonly (keyof typeof HEADERS)[]): Json {
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}

/** The operation that returns this document. It has no handler, since the document is served as a file. */
const DOCUMENT_OPERATION = {
  operationId: 'openapi',
  tags: ['openapi'],
  summary: 'Read this document.',
  'x-scope': 'none',
  'x-error-reasons': ['internal_error'],
  security: [],
  responses: {
    200: { ...answer('The document.', { type: 'object' }), headers: headersOf(BASIC_HEADERS) },
    500: { $ref: '#/components/responses/Error500' },
  },
}

type WriteSchema = (schema: z.ZodType) => Json

/** Writes schemas as JSON Schema. A schema with an id becomes a component and is referred to. */
function schemaWriter(components: Json): WriteSchema {
  return schema => {
    // Answers may get new fields, so they are described without "additionalProperties": false.
    const {
      $schema: _,
      $defs = {},
      ...written
    } = relocated(z.toJSONSchema(schema, { io: 'input', override: keepDefault }))
    for (const [name, definition] of Object.entries(
      typeof $defs === 'object' && $defs !== null ? $defs : {},
    )) {
      const { id: __, ...described } = definition
      const known = components[name]
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(described)) {
        throw new Error(`Two schemas have the id ${name}`)
      }
      components[name] = described
    }
    if (typeof written['id'] !== 'string') return written
    const { id, ...described } = written
    components[String(id)] = described
    return { $ref: `#/components/schemas/${String(id)}` }
  }
}

/** zod drops the default of a value that it transforms. Defaults in a query are documented as they are sent. */
function keepDefault({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: Json }) {
  const { def } = zodSchema._zod
  if (def.type === 'default') jsonSchema['default'] = def.defaultValue
}

/**
 * Moves definitions, which zod puts beside the schema, to the components, and removes the patterns that repeat formats.
 */
function relocated(schema: unknown): Json {
  const text = JSON.stringify(schema, (key, value: unknown) => {
    if (key === '$ref' && typeof value === 'string') return value.replace('#/$defs/', '#/components/schemas/')
    if (typeof value !== 'object' || value === null || !('format' in value)) return value
    return { ...value, pattern: undefined }
  })
  return JSON.parse(text)
}

function describeOperation(section: string, name: string, operation: Operation, write: WriteSchema): Json {
  const { meta, route, inputSchema, outputSchema } = operation['~orpc']
  if (!inputSchema || !outputSchema) throw new Error(`${section}.${name} lacks a schema`)
  const { params, query, body } = inputSchema.shape
  const parameters = [
    ...parametersOf('path', write(params)),
    ...parametersOf('query', write(query)),
    ...(takesIdempotencyKey(meta) ? [{ $ref: '#/components/parameters/Idempotency-Key' }] : []),
    ...(meta.isConditional ? [{ $ref: '#/components/parameters/If-Match' }] : []),
    ...(meta.produces === EVENT_STREAM ? [{ $ref: '#/components/parameters/Last-Event-ID' }] : []),
  ]
  const hasBody = Object.keys(body.shape).length > 0
  const written = write(body)
  const operationId = `${section}.${name}`
  const example = bodyExamples[operationId]
  return {
    operationId,
    tags: [section],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    'x-scope': meta.scope,
    'x-error-reasons': meta.reasons,
    ...(meta.scope === 'none' ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(hasBody
      ? {
          requestBody: {
            required: Array.isArray(written['required']),
            content: jsonContent(written, example),
          },
        }
      : {}),
    responses: {
      [meta.successStatus]:
        meta.produces === null ? answerOf(meta, write(outputSchema)) : downloadOf(meta.produces),
      ...errorResponses(meta.reasons, write),
    },
  }
}

function parametersOf(place: 'path' | 'query', schema: Json): Json[] {
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries((schema['properties'] ?? {}) as Record<string, Json>).map(([name, property]) => {
    const { description, ...rest } = property
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(rest['type'] === 'array' ? { style: 'form', explode: true } : {}),
    }
  })
}

const COMMON_BY_STATUS = Map.groupBy(COMMON_REASONS, reason => reasons[reason].status)

function commonResponses(write: WriteSchema): Json {
  return Object.fromEntries(
    [...COMMON_BY_STATUS].map(([status, common]) => [`Error${status}`, errorResponse(status, common, write)]),
  )
}

function errorResponses(declared: readonly Reason[], write: WriteSchema): Json {
  const byStatus = Map.groupBy(declared, reason => reasons[reason].status)
  return Object.fromEntries(
    [...byStatus].map(([status, some]) => {
      const common: readonly Reason[] = COMMON_BY_STATUS.get(status) ?? []
      const isCommon = common.length === some.length && some.every(reason => common.includes(reason))
      return [
        status,
        isCommon ? { $ref: `#/components/responses/Error${status}` } : errorResponse(status, some, write),
      ]
    }),
  )
}

function errorResponse(status: number, some: readonly Reason[], write: WriteSchema): Json {
  const description = some.map(reason => `\`${reason}\`: ${reasons[reason].message}`).join('\n')
  const withData = some.flatMap(reason => {
    const data = dataSchemaOf(reason)
    return data ? [{ properties: { code: { const: reason }, data: write(data) }, required: ['data'] }] : []
  })
  const withoutData = some.filter(reason => !dataSchemaOf(reason))
  const variants = [
    ...withData,
    ...(withoutData.length > 0 ? [{ properties: { code: { enum: withoutData } } }] : []),
  ]
  const schema = {
    allOf: [{ $ref: '#/components/schemas/Error' }],
    ...(variants.length === 1 ? variants[0] : { anyOf: variants }),
  }
  const headers = RETRY_STATUSES.has(status)
    ? headersOf([...BASIC_HEADERS, 'Retry-After'])
    : headersOf(BASIC_HEADERS)
  return { ...answer(description, schema), headers }
}

function answerOf(meta: OperationMeta, schema: Json): Json {
  const names = [
    ...COUNTED_HEADERS,
    ...(takesIdempotencyKey(meta) ? (['Idempotent-Replayed'] as const) : []),
    ...(meta.hasEtag ? (['ETag'] as const) : []),
  ]
  return { ...answer(meta.successStatus === 202 ? 'Accepted' : 'OK', schema), headers: headersOf(names) }
}

function answer(description: string, schema: Json): Json {
  return { description, headers: headersOf(BASIC_HEADERS), content: jsonContent(schema) }
}

/** OpenAPI 3.1: bytes have a media type and no schema. */
function downloadOf(mediaType: string): Json {
  return { description: 'OK', headers: headersOf(COUNTED_HEADERS), content: { [mediaType]: {} } }
}

function jsonContent(schema: Json, example?: unknown): Json {
  return { 'application/json': { schema, ...(example === undefined ? {} : { example }) } }
}

function withExample(name: string, schema: unknown): unknown {
  const example = schemaExamples[name]
  return example === undefined ? schema : { ...Object(schema), examples: [example] }
}
