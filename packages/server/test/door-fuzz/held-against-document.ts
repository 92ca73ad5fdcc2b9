import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { type Operation, type Parameter, document, operations } from './document.ts'

export interface FuzzAnswer {
  status: number
  headers: Record<string, string | undefined>
  text: string
  seconds: number
}

export interface SentRequest {
  query: [name: string, value: string][]
  body: string | null
  headers: Record<string, string>
}

/** Generous: the faults to find block for seconds, and the machine may be busy. */
const SECONDS_MAX = 20
/** Refusals by HTTP itself, which the document does not list for each operation. */
const PROTOCOL_STATUSES = new Set([400, 404, 405, 408, 413, 415, 417, 431, 501])

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

// The document has keywords of OpenAPI beside those of JSON Schema.
const answers = new Ajv2020({ strict: false, allErrors: false })
for (const [format, pattern] of [
  ['uuid', UUID],
  ['date-time', INSTANT],
  ['date', /^\d{4}-\d\d-\d\d$/],
  ['email', /@/],
  ['idn-email', /@/],
] as const)
  answers.addFormat(format, pattern)
answers.addSchema(document, 'openapi')
/** A request may spell a time or an id in more ways than an answer. */
const inputs = new Ajv2020({ strict: false, validateFormats: false })
inputs.addSchema(document, 'openapi')

/** Lists what is wrong with an answer; empty if it conforms to the document. */
export function problemsOf(
  operationId: string | null,
  sent: SentRequest & { method: string },
  answer: FuzzAnswer,
): string[] {
  const operation = operations.find(({ id: other }) => other === operationId)
  const problems: string[] = []
  const { status, headers, seconds } = answer
  if (seconds > SECONDS_MAX) problems.push(`took ${seconds} seconds`)
  const given = sent.headers['x-request-id']
  const id = headers['x-request-id']
  if (id === undefined || !REQUEST_ID.test(id)) problems.push(`has the X-Request-Id ${id}`)
  // Headers that are too large are not read at all.
  const isEchoed = given === undefined || !REQUEST_ID.test(given) || status === 431 || id === given
  if (!isEchoed) problems.push('has another X-Request-Id')
  if (status === 500) problems.push('is a fault of the service')
  return [
    ...problems,
    ...(operation ? problemsOfOperation(operation, sent, answer) : problemsOfProtocol(answer, sent.method)),
  ]
}

/** Checks answers at paths outside the document, and to HEAD, OPTIONS and other methods. */
function problemsOfProtocol({ status, text, headers }: FuzzAnswer, method: string): string[] {
  if (status < 400) return []
  if (headers['content-type'] !== 'application/json') return [`has the type ${headers['content-type']}`]
  // RFC 9110 section 9.3.2: an answer to HEAD has no body.
  if (method === 'HEAD') return text === '' ? [] : ['has a body']
  const body = Object(parse(text))
  const { defined, code, message } = body
  const isShaped = typeof defined === 'boolean' && typeof code === 'string' && typeof message === 'string'
  return isShaped && body['status'] === status ? [] : ['does not have the shape of an error']
}

function problemsOfOperation(operation: Operation, sent: SentRequest, answer: FuzzAnswer): string[] {
  const { status, text } = answer
  if (status < 300) return problemsOfSuccess(operation, sent, answer)
  const body = Object(parse(text))
  if (body['defined'] === false) return PROTOCOL_STATUSES.has(status) ? [] : [`has the status ${status}`]
  const problems = []
  if (body['defined'] !== true || body['status'] !== status) problems.push('is not an error of the interface')
  if (!operation.reasons.includes(body['code'])) problems.push(`has the reason ${body['code']}`)
  return [...problems, ...misfits(operation, answer)]
}

function problemsOfSuccess(operation: Operation, sent: SentRequest, answer: FuzzAnswer): string[] {
  // Files, such as the document itself, take no input that could be wrong.
  const takesInput = operation.reasons.includes('invalid_input')
  const refusable = takesInput ? whyRefusable(operation, sent) : null
  return [...(refusable ? [`accepts ${refusable}`] : []), ...misfits(operation, answer)]
}

/** Lists how an answer deviates from the schema of its status. */
function misfits({ answers: declared }: Operation, { status, text }: FuzzAnswer): string[] {
  const schema = declared.get(status)
  if (schema === undefined) return [`has the status ${status}, which is not documented`]
  if (schema === null) return []
  const validate = compiled(answers, schema)
  return validate(parse(text)) ? [] : [`does not fit: ${answers.errorsText(validate.errors)}`]
}

/** Returns what of a request the document forbids, or null. */
function whyRefusable(
  { parameters, body: schema, method }: Operation,
  { query, body }: SentRequest,
): string | null {
  const known = parameters.filter(parameter => parameter.in === 'query')
  const unknown = query.find(([name]) => !known.some(parameter => parameter.name === name))
  if (unknown) return `the unknown parameter ${JSON.stringify(unknown[0])}`
  for (const parameter of known) {
    const values = query.filter(([name]) => name === parameter.name).map(([, value]) => value)
    if (!fitsParameter(parameter, values)) return `${parameter.name}=${values.join('&').slice(0, 100)}`
  }
  // An empty body is read like one that is left out.
  if (method === 'GET' || !body || schema === null) return null
  // RFC 8259 section 8.1 allows a reader to ignore a byte order mark.
  const value = parse(body.replace(/^\uFEFF/, ''))
  if (value === undefined) return 'a body that is not JSON'
  const validate = inputs.compile(withRoot(schema))
  return validate(value) ? null : `a body that does not fit: ${inputs.errorsText(validate.errors)}`
}

function fitsParameter({ schema, required }: Parameter, values: string[]): boolean {
  if (values.length === 0) return !required
  if (schema.type === 'array')
    return inputs.validate(
      withRoot(schema),
      values.flatMap(value => value.split(',')),
    )
  const [text = ''] = values
  return values.length === 1 && inputs.validate(withRoot(schema), readAs(schema.type, text))
}

function readAs(type: string | undefined, text: string): unknown {
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return type === 'integer' && /^-?\d+$/.test(text) ? Number(text) : text
}

const rooted = new WeakMap<object, object>()

/**
 * Lets references start at the document's root, wherever the schema was cut out. Returns the same object for the same
 * schema, so that it is compiled once.
 */
function withRoot(schema: object): object {
  const known = rooted.get(schema)
  if (known) return known
  const made: object = JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"openapi#/'))
  rooted.set(schema, made)
  return made
}

function compiled(ajv: Ajv2020, place: string): ValidateFunction {
  const validate = ajv.getSchema(`openapi${place}`)
  if (!validate) throw new Error(`The document has no schema at ${place}`)
  return validate
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
