import fc from '../property.ts'
import { type Operation, type Parameter, type Schema, operations, resolveReference } from './document.ts'
import { CHANGED_NAMES, CREDENTIALS, DELETED_NAMES } from './world.ts'

/** A request with placeholders of the world in it. */
export interface FuzzRequest {
  /** Null for a method and path that the document need not have. */
  operationId: string | null
  method: string
  path: string
  query: [name: string, value: string][]
  /** Raw, as sent. */
  body: string | null
  headers: Record<string, string>
}

/** A field of a body with its value as raw text, which need not be JSON. */
type Field = [name: string, json: string]

const HOSTILE_TEXTS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  '\u202e',
  '\uffff',
  '👋'.repeat(300),
  'é',
  "'; drop table account; --",
  '%',
  '%25',
  '_%\\',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  '{{nothing}}',
  '\r\nX: y',
  ','.repeat(2000),
  'a,'.repeat(500),
  '-1',
  '0',
  '1e3',
  '0x10',
  '9223372036854775808',
  '9'.repeat(400),
  'NaN',
  'null',
  'true',
  '2026-02-30T00:00:00Z',
  '-271821-04-20T00:00:00Z',
  '+275760-09-13T00:00:00.000Z',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999+14:00',
  'x'.repeat(3000),
  '"',
  '"unclosed phrase',
  '-'.repeat(400),
  'a OR '.repeat(90),
  '( & | ! :*',
]

const HOSTILE_IDS = ['\0', 'a\0b', '\ud800', '%', '..', '__proto__', "';--", 'é', 'x'.repeat(3000), '0']

const HOSTILE_JSON = [
  'null',
  'true',
  '0',
  '-0',
  '1.5',
  '1e400',
  '-1e400',
  '9'.repeat(400),
  '9007199254740993',
  '2147483648',
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '[]',
  '[null]',
  '{}',
  '[[]]',
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":{}}}',
  '{"length":1e9}',
  `${'['.repeat(33)}${']'.repeat(33)}`,
  `${'['.repeat(5000)}${']'.repeat(5000)}`,
  `[${'0,'.repeat(12_000)}0]`,
  `"${'x'.repeat(100_000)}"`,
  ...HOSTILE_TEXTS.map(text => JSON.stringify(text)),
]

const BROKEN_BODIES = [
  '',
  '{',
  '}',
  'null',
  '[]',
  '""',
  '0',
  'nul',
  '{"a":1,}',
  '{}{}',
  '\uFEFF{}',
  "{'a':1}",
  '{"a":\u0000}',
]

/** Placeholders by the names of parameters and fields. */
const KNOWN_IDS: Readonly<Record<string, string>> = {
  accountId: 'account',
  delegateAccountId: 'account',
  messageId: 'message',
  threadId: 'thread',
  mailboxId: 'mailbox',
  templateId: 'template',
  listId: 'list',
  appId: 'app',
  contactId: 'contact',
  sessionId: 'session',
  identityId: 'identity',
  folderId: 'folder',
  calendarId: 'calendar',
  calendarIds: 'calendar',
  accountIds: 'account',
  eventId: 'event',
}
/** Known targets of requests that delete them, which is left to accounts that are there for it. */
const KEPT_IDS = new Set(['templateId', 'listId', 'appId', 'identityId'])

const idOf = (name: string): fc.Arbitrary<string> => {
  const known = KNOWN_IDS[name]
  return fc.oneof(
    { weight: 8, arbitrary: fc.constant(known === undefined ? '2' : `{{${known}}}`) },
    { weight: 1, arbitrary: fc.constantFrom('{{nothing}}', '{{stranger}}', '{{message}}', '{{account}}') },
    { weight: 3, arbitrary: fc.constantFrom(...HOSTILE_IDS) },
  )
}

/** A value that the schema allows, its limits more often than values in between. */
function fitting(schema: Schema, name: string): fc.Arbitrary<unknown> {
  if (schema.$ref) return fitting(resolveReference<Schema>(schema.$ref), name)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(one => fitting(one, name)))
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if ('const' in schema) return fc.constant(schema.const)
  switch (schema.type) {
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'integer':
    case 'number':
      return fittingNumber(schema)
    case 'array':
      return fittingList(schema, name)
    case 'object':
      return fittingObject(schema)
    default:
      return fittingText(schema, name)
  }
}

function fittingNumber({ minimum = -1000, maximum = 1000 }: Schema): fc.Arbitrary<number> {
  return fc.oneof(fc.constantFrom(minimum, maximum), fc.integer({ min: minimum, max: maximum }))
}

function fittingList({ items = {}, minItems = 0, maxItems = 10 }: Schema, name: string) {
  const lengths = fc.oneof(fc.constantFrom(minItems, maxItems), fc.integer({ min: minItems, max: maxItems }))
  return lengths.chain(length => fc.array(fitting(items, name), { minLength: length, maxLength: length }))
}

function fittingObject({ properties = {}, required = [] }: Schema): fc.Arbitrary<Record<string, unknown>> {
  const fields = Object.entries(properties).map(([name, schema]) => [name, fitting(schema, name)] as const)
  return fc.record(Object.fromEntries(fields), { requiredKeys: required, noNullPrototype: true })
}

/** Hosts that are refused without DNS, and one that takes a second. */
const HOSTS = ['127.0.0.1', 'localhost', '[::1]', '10.0.0.1', '169.254.169.254', 'mail', 'imap.example.test']
const EMAILS = ['ada@gmail.com', 'Ada@OUTLOOK.com', 'ada@icloud.com', 'ada@example.test']

function fittingText(schema: Schema, name: string): fc.Arbitrary<string> {
  const { format, minLength = 0, maxLength = 50 } = schema
  if (name === 'host') return fc.constantFrom(...HOSTS)
  if (name === 'cursor') return fc.oneof(fc.constant('{{cursor}}'), fc.string())
  if (format === 'email' || format === 'idn-email') return fc.constantFrom(...EMAILS)
  if (format === 'uuid') return idOf(name)
  if (format === 'date-time')
    return fc.oneof(
      {
        weight: 4,
        arbitrary: fc.date({ noInvalidDate: true, min: new Date(0) }).map(date => date.toISOString()),
      },
      { weight: 1, arbitrary: fc.constantFrom('{{soon}}', '{{later}}') },
    )
  return fc.oneof(
    fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, minLength + 40) }),
    fc.constantFrom(minLength, maxLength).map(length => 'x'.repeat(length)),
    fc.constant('👋'.repeat(maxLength)),
  )
}

function queryOf(parameters: Parameter[]): fc.Arbitrary<FuzzRequest['query']> {
  const fields = parameters
    .filter(parameter => parameter.in === 'query')
    .map(({ name, required, schema }) => {
      const text = fitting(schema, name).map(value =>
        Array.isArray(value) ? value.join(',') : String(value),
      )
      return fc.option(
        text.map((value): [string, string] => [name, value]),
        { freq: required ? 20 : 1, nil: null },
      )
    })
  return fc.tuple(...fields).map(chosen => chosen.filter(one => one !== null))
}

/** Makes a valid query hostile. */
function hostileQuery(query: FuzzRequest['query'], names: string[]): fc.Arbitrary<FuzzRequest['query']> {
  const name = fc.constantFrom(...names, 'unknown', '__proto__', '', '\0', 'a'.repeat(2000))
  const pair = fc.tuple(name, fc.constantFrom(...HOSTILE_TEXTS))
  return fc.oneof(
    pair.map((one): FuzzRequest['query'] => [...query, one]),
    pair.map(([changed, value]): FuzzRequest['query'] => [
      ...query.filter(([other]) => other !== changed),
      [changed, value],
    ]),
    fc.constant<FuzzRequest['query']>([...query, ...query]),
    fc
      .tuple(pair, fc.constantFrom(99, 100, 101, 600))
      // Short, so that the request line stays within what the HTTP parser reads before it hangs up.
      .map(([[repeated, value], times]) =>
        Array.from({ length: times }, (): [string, string] => [repeated.slice(0, 10), value.slice(0, 10)]),
      ),
  )
}

function fieldsOf(schema: Schema): fc.Arbitrary<Field[]> {
  return fitting(schema, '').map(value =>
    Object.entries(Object(value)).map(([name, inner]) => [name, JSON.stringify(inner)]),
  )
}

function hostileFields(fields: Field[], names: string[]): fc.Arbitrary<Field[]> {
  const name = fc.constantFrom(
    ...names,
    'unknown',
    '__proto__',
    'constructor',
    '\0',
    '\ud800',
    'k'.repeat(5000),
  )
  const field = fc.tuple(name, fc.constantFrom(...HOSTILE_JSON))
  return fc.oneof(
    field.map((one): Field[] => [...fields, one]),
    field.map(([changed, json]): Field[] => [
      ...fields.filter(([other]) => other !== changed),
      [changed, json],
    ]),
    fc
      .constantFrom(...fields, ['a', '1'] satisfies Field)
      .map(([dropped]) => fields.filter(([other]) => other !== dropped)),
  )
}

const toJson = (fields: Field[]) =>
  `{${fields.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`

function bodyOf(schema: Schema): fc.Arbitrary<string | null> {
  const names = Object.keys(schema.properties ?? {})
  const fits = fieldsOf(schema)
  return fc.oneof(
    { weight: 6, arbitrary: fits.map(toJson) },
    { weight: 5, arbitrary: fits.chain(fields => hostileFields(fields, names)).map(toJson) },
    { weight: 1, arbitrary: fc.constantFrom(...BROKEN_BODIES) },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.json({ maxDepth: 5 }) },
  )
}

const authorization = fc.oneof(
  { weight: 10, arbitrary: fc.constant('Bearer {{key all}}') },
  { weight: 4, arbitrary: fc.constantFrom(...CREDENTIALS).map(name => `Bearer ${name}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      'Bearer',
      'Bearer  ',
      'Basic YTpi',
      'Bearer wk_x',
      `Bearer ${'x'.repeat(9000)}`,
    ),
  },
)

/** Each header is left out more often than not. */
const headers: fc.Arbitrary<Record<string, string>> = fc.record(
  {
    'x-request-id': fc.constantFrom('mine', 'a b', 'x'.repeat(129), 'é'),
    'idempotency-key': fc.oneof(fc.uuid(), fc.constantFrom('same', '', 'a b', 'é', 'x'.repeat(256))),
    range: fc.constantFrom('bytes=0-', `bytes=${'0-1,'.repeat(1500)}0-1`),
    cookie: fc.constant('a=b; '.repeat(500)),
    'if-match': fc.constantFrom('*', '"x"'),
    accept: fc.constantFrom('text/html', '*/*;q=0'),
    origin: fc.constantFrom('null', 'https://evil.example'),
    'content-encoding': fc.constantFrom('gzip', 'identity'),
    'x-http-method-override': fc.constant('DELETE'),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const contentType = fc.oneof(
  { weight: 12, arbitrary: fc.constant('application/json') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'application/json; charset=utf-8',
      'text/plain',
      '',
      'application/json; charset=latin1',
    ),
  },
)
/** Different clients, so that one client's wrong credentials do not block the others. */
const client = fc.oneof(
  fc.ipV4().map(address => address),
  fc.constantFrom('', 'x', '1.2.3.4, 5.6.7.8', ','.repeat(1000)),
)

function pathOf(operation: Operation): fc.Arbitrary<string> {
  const parameters = operation.parameters.filter(parameter => parameter.in === 'path')
  const values = parameters.map(({ name }) => {
    // Only some targets, since changing the others would affect all later requests.
    const changing =
      name === 'accountId' ? { DELETE: DELETED_NAMES, PATCH: CHANGED_NAMES }[operation.method] : null
    if (changing) return fc.constantFrom(...changing, '{{nothing}}', '{{stranger}}')
    return operation.method === 'DELETE' && KEPT_IDS.has(name) ? fc.constant('{{nothing}}') : idOf(name)
  })
  return fc
    .tuple(...values)
    .map(chosen =>
      parameters.reduce(
        (path, { name }, nth) => path.replace(`{${name}}`, encodeSegment(chosen[nth] ?? '')),
        operation.path,
      ),
    )
}

/** Keeps placeholders as they are. */
function encodeSegment(text: string): string {
  return /^\{\{.*\}\}$/.test(text) ? text : encodeURIComponent(text.toWellFormed())
}

function requestOf(operation: Operation): fc.Arbitrary<FuzzRequest> {
  const names = operation.parameters.filter(one => one.in === 'query').map(({ name }) => name)
  const fits = queryOf(operation.parameters)
  return fc
    .record({
      path: pathOf(operation),
      query: fc.oneof(
        { weight: 3, arbitrary: fits },
        { weight: 2, arbitrary: fits.chain(query => hostileQuery(query, names)) },
      ),
      body: operation.body ? bodyOf(operation.body) : fc.oneof(fc.constant(null), fc.constant('{}')),
      headers: fc.option(headers, { freq: 1, nil: {} }),
      authorization,
      contentType,
      client,
    })
    .map(({ authorization: credential, contentType: type, client: from, ...request }) => ({
      ...request,
      operationId: operation.id,
      method: operation.method,
      headers: {
        ...request.headers,
        authorization: credential,
        'x-forwarded-for': from,
        ...(request.body !== null && { 'content-type': type }),
      },
    }))
}

const SEGMENTS = [
  'v1',
  'accounts',
  '{{account}}',
  'messages',
  '..',
  '.',
  '',
  '%2e',
  '%',
  '%zz',
  'openapi.json',
  'docs',
  '*',
]

const nowhere: fc.Arbitrary<FuzzRequest> = fc
  .record({
    method: fc.constantFrom(
      'GET',
      'HEAD',
      'POST',
      'PUT',
      'PATCH',
      'DELETE',
      'OPTIONS',
      'TRACE',
      'PROPFIND',
      'QUERY',
    ),
    path: fc.array(fc.constantFrom(...SEGMENTS), { maxLength: 6 }).map(segments => `/${segments.join('/')}`),
    headers,
    authorization,
  })
  .map(({ authorization: credential, ...request }) => ({
    ...request,
    operationId: null,
    query: [],
    body: null,
    headers: { ...request.headers, authorization: credential },
  }))

/** Requests of every operation equally, and some of no operation. */
export const requests: fc.Arbitrary<FuzzRequest> = fc.oneof(
  { weight: operations.length, arbitrary: fc.oneof(...operations.map(requestOf)) },
  { weight: 1, arbitrary: nowhere },
)
