/** JSON Schema of the OpenAPI document, as far as the contract uses it, and its TypeScript. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  anyOf?: Schema[]
  allOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  default?: unknown
  format?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

/** The side that writes a value: programs (`input`), which must not use unknown words, or the service (`answer`), which may. */
export type Side = 'input' | 'answer'

const REFERENCE = '#/components/schemas/'

/** Prints schemas as types, and the named schemas that they use as declarations. */
export class TypePrinter {
  readonly #schemas: Record<string, Schema>
  readonly #reached = new Set<string>()

  constructor(schemas: Record<string, Schema>) {
    this.#schemas = schemas
  }

  /** A type for a property, such as `string | null` or `Account[]`. */
  type(schema: Schema, side: Side): string {
    if (schema.$ref !== undefined) return this.#reference(nameOf(schema.$ref), side)
    if (schema.anyOf) return unique(schema.anyOf.map(each => this.type(each, side))).join(' | ')
    if ('const' in schema) return JSON.stringify(schema.const)
    if (schema.enum) return printWords(schema.enum, side)
    if (Array.isArray(schema.type))
      return unique(schema.type.map(each => this.type({ ...schema, type: each }, side))).join(' | ')
    switch (schema.type) {
      case 'string':
        return 'string'
      case 'integer':
      case 'number':
        return 'number'
      case 'boolean':
        return 'boolean'
      case 'null':
        return 'null'
      case 'array': {
        const item = this.type(schema.items ?? {}, side)
        return /^[\w.]+$/.test(item) ? `${item}[]` : `(${item})[]`
      }
      case 'object':
        return this.#object(schema, side)
      case undefined:
        return 'unknown'
      default:
        throw new Error(`There is no type for ${JSON.stringify(schema)}`)
    }
  }

  /** The fields of an object, each with its documentation. */
  fields(schema: Schema, side: Side): string {
    const required = new Set(schema.required)
    return Object.entries(schema.properties ?? {})
      .map(([name, property]) => {
        const mark = required.has(name) ? '' : '?'
        return `${printComment(documentation(property))}${printKey(name)}${mark}: ${this.type(property, side)}\n`
      })
      .join('')
  }

  /** The declarations of all named schemas that were used so far, and of those that they use. */
  declarations(): string {
    const printed = new Map<string, string>()
    // A set that grows meanwhile is gone through to its end.
    for (const declared of this.#reached) {
      const { name, side } = this.#find(declared)
      printed.set(declared, this.#declaration(declared, this.#schema(name), side))
    }
    return [...printed.keys()]
      .toSorted()
      .map(name => printed.get(name))
      .join('\n')
  }

  #declaration(declared: string, schema: Schema, side: Side): string {
    const comment = printComment(documentation(schema))
    const isObject = schema.type === 'object' && schema.properties && !schema.anyOf
    return isObject
      ? `${comment}export interface ${declared} {\n${this.fields(schema, side)}}\n`
      : `${comment}export type ${declared} = ${this.type(schema, side)}\n`
  }

  #object(schema: Schema, side: Side): string {
    if (schema.properties) return `{\n${this.fields(schema, side)}}`
    const { additionalProperties } = schema
    const value =
      typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0
        ? this.type(additionalProperties, side)
        : 'unknown'
    return `Record<string, ${value}>`
  }

  #reference(name: string, side: Side): string {
    const declared = side === 'input' && this.#hasWords(name) ? inputName(name) : name
    if (declared !== name && this.#schemas[declared]) throw new Error(`Two types have the name ${declared}`)
    this.#reached.add(declared)
    return declared
  }

  /** The schema that a declared type comes from, and who writes its values. */
  #find(declared: string): { name: string; side: Side } {
    if (this.#schemas[declared]) return { name: declared, side: isInput(declared) ? 'input' : 'answer' }
    return { name: declared.replace(/Given$/, ''), side: 'input' }
  }

  /** Whether programs and the service would need different types, since it has an enumeration. */
  #hasWords(name: string): boolean {
    if (isInput(name)) return false
    const seen = new Set<string>([name])
    for (const each of seen) {
      const text = JSON.stringify(this.#schema(each))
      if (text.includes('"enum":')) return true
      for (const [, found] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) seen.add(found!)
    }
    return false
  }

  #schema(name: string): Schema {
    const schema = this.#schemas[name]
    if (!schema) throw new Error(`There is no schema ${name}`)
    return schema
  }
}

/** Whether only programs write such values, by the names of the contract. */
function isInput(name: string): boolean {
  return /(?:Input|Question)$/.test(name)
}

function inputName(name: string): string {
  return `${name}Given`
}

function nameOf(reference: string): string {
  if (!reference.startsWith(REFERENCE)) throw new Error(`${reference} is no schema`)
  return reference.slice(REFERENCE.length)
}

function printWords(words: unknown[], side: Side): string {
  const printed = words.map(word => JSON.stringify(word))
  // `string & {}` keeps the known words in editors.
  const isOpen = side === 'answer' && words.every(word => typeof word === 'string')
  return (isOpen ? [...printed, '(string & {})'] : printed).join(' | ')
}

function unique(types: string[]): string[] {
  return [...new Set(types)]
}

/** The text that editors show of a field: its description, bounds and default. */
export function documentation(schema: Schema): string {
  const { description, format, default: standard } = schema
  const values = schema.anyOf?.find(each => each.type !== 'null') ?? schema
  return [
    description,
    format === 'date-time' || values.format === 'date-time' ? 'A time (RFC 3339).' : undefined,
    boundsOf(values),
    standard === undefined ? undefined : `Default: \`${JSON.stringify(standard)}\`.`,
  ]
    .filter(line => line !== undefined)
    .join('\n')
}

function boundsOf(schema: Schema): string | undefined {
  const { minimum, maximum, minLength = 0, maxLength, minItems = 0, maxItems } = schema
  if (maxLength !== undefined) return `${range(minLength, maxLength)} characters.`
  if (maxItems !== undefined) return `${range(minItems, maxItems)} items.`
  const lowest = minimum === Number.MIN_SAFE_INTEGER ? undefined : minimum
  const highest = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum
  if (lowest !== undefined && highest !== undefined) return `From ${lowest} to ${highest}.`
  if (highest !== undefined) return `At most ${highest}.`
  return lowest === undefined ? undefined : `At least ${lowest}.`
}

function range(from: number, to: number): string {
  return from > 0 ? `From ${from} to ${to}` : `At most ${to}`
}

export function printComment(text: string): string {
  if (text === '') return ''
  const lines = text.replaceAll('*/', '*\\/').split('\n')
  if (lines.length === 1) return `/** ${lines[0]} */\n`
  return `/**\n${lines.map(line => ` * ${line}`).join('\n')}\n */\n`
}

function printKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}
