/** The parts of an OpenAPI 3.1 document that the reference page reads. */
export interface OpenapiDocument {
  info: { title: string; version: string; description: string }
  tags: Tag[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> }
}

export interface Tag {
  name: string
  'x-displayName'?: string
  description?: string
}

export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  'x-scope': string
  'x-error-reasons': string[]
  parameters?: (Parameter | Reference)[]
  requestBody?: { required: boolean; content: Record<string, MediaType> }
  responses: Record<string, { description?: string; content?: Record<string, MediaType> } | Reference>
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: Schema
}

export interface MediaType {
  schema?: Schema
  example?: unknown
}

export interface Reference {
  $ref: string
}

export interface Schema {
  $ref?: string
  type?: string | string[]
  description?: string
  format?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  examples?: unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  anyOf?: Schema[]
  allOf?: Schema[]
}

/** Returns `Account` for `#/components/schemas/Account`. */
export function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

/** Returns the schema itself, or the component that it refers to. */
export function resolve(document: OpenapiDocument, schema: Schema): Schema {
  if (schema.$ref === undefined) return schema
  const target = document.components.schemas[nameOf(schema.$ref)]
  if (!target) throw new Error(`The document lacks ${schema.$ref}`)
  return target
}
