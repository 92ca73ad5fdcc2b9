import { readFileSync } from 'node:fs'
import path from 'node:path'
import { contract } from '@waxwing/contract/contract.ts'
import type { Operation } from '@waxwing/contract/operation.ts'
import { describe, expect, test } from 'vitest'
import { newId } from '../src/kit/ids.ts'

/*
 * The limits that the interface promises. Limits of a single request are tried here against its schema; for all
 * others the last table names the test that proves them.
 */

const operations: Operation[] = Object.values(contract).flatMap(section => Object.values(section))
const nameOf = (operation: Operation) => `${operation['~orpc'].meta.method} ${operation['~orpc'].meta.path}`

function find(name: string): Operation {
  const found = operations.find(operation => nameOf(operation) === name)
  if (!found) throw new Error(`There is no operation ${name}`)
  return found
}

type Part = Record<string, unknown>

/** Whether an input is refused because of the value at the path, whatever else is missing. */
function isRefusedAt(operation: Operation, input: { query?: Part; body?: Part }, at: string): boolean {
  const { params } = operation['~orpc'].inputSchema!.shape
  const ids = Object.fromEntries(Object.keys(params.shape).map(name => [name, newId()]))
  const parsed = operation['~orpc'].inputSchema!.safeParse({ params: ids, query: {}, body: {}, ...input })
  return !parsed.success && parsed.error.issues.some(issue => issue.path.join('.').startsWith(at))
}

/** Default and maximum; all other lists have 50 and 200. */
const PAGES: Record<string, [number, number]> = {
  'GET /v1/accounts/{accountId}/threads': [25, 100],
  'GET /v1/accounts/{accountId}/search/messages': [25, 100],
  'GET /v1/webhooks/{endpointId}/attempts': [50, 500],
  'GET /v1/accounts/{accountId}/contacts': [100, 500],
  'GET /v1/accounts/{accountId}/calendar-events': [100, 500],
}
/** Lists that answer whole. */
const WHOLE = new Set([
  'GET /v1/accounts/{accountId}/mailboxes',
  'GET /v1/accounts/{accountId}/contact-folders',
  'GET /v1/accounts/{accountId}/calendars',
  'GET /v1/suppressions',
  'GET /v1/webhooks',
])

describe('the size of a page', () => {
  test('has the default and the maximum of its list', () => {
    const paged = operations.filter(operation => 'limit' in operation['~orpc'].inputSchema!.shape.query.shape)
    expect(paged.length).toBeGreaterThan(8)
    for (const operation of paged) {
      const name = nameOf(operation)
      const [byDefault, max] = PAGES[name] ?? [50, 200]
      const limit = operation['~orpc'].inputSchema!.shape.query.shape['limit']!
      expect({ name, limit: limit.parse(undefined) }).toEqual({ name, limit: byDefault })
      expect({ name, limit: limit.parse(`${max}`) }).toEqual({ name, limit: max })
      for (const wrong of [`${max + 1}`, '0'])
        expect({ name, wrong, is: limit.safeParse(wrong).success }).toEqual({ name, wrong, is: false })
    }
  })

  test('is not asked for where a list answers whole', () => {
    const whole = operations.filter(operation => WHOLE.has(nameOf(operation)))
    expect(whole.length).toBeGreaterThan(1)
    for (const operation of whole)
      expect(Object.keys(operation['~orpc'].inputSchema!.shape.query.shape)).toEqual([])
  })
})

const times = <T>(count: number, make: (nth: number) => T) =>
  Array.from({ length: count }, (_, nth) => make(nth))
const address = (nth: number) => ({ address: `a${nth}@example.org` })
const characters = (count: number) => 'x'.repeat(count)
const MESSAGE = 'PATCH /v1/accounts/{accountId}/messages/{messageId}'
const EVENT = 'POST /v1/accounts/{accountId}/calendar-events'
const SEND = 'POST /v1/accounts/{accountId}/outbox'

/** The operation, the value in its body or query, how to make one of a size, and the largest size. */
const SIZES: Array<[operation: string, at: string, make: (size: number) => unknown, max: number]> = [
  ['GET /v1/accounts/{accountId}/search/messages', 'query.q', characters, 500],
  [EVENT, 'body.attendees', count => times(count, address), 500],
  [EVENT, 'body.body.content', characters, 1_000_000],
  [EVENT, 'body.location', characters, 255],
  [EVENT, 'body.recurrence', count => times(count, () => 'RRULE:FREQ=DAILY'), 20],
  [EVENT, 'body.reminderMinutes', minutes => minutes, 40_320],
  [EVENT, 'body.subject', characters, 255],
  ['POST /v1/accounts/{accountId}/calendars', 'body.description', characters, 2_000],
  ['POST /v1/accounts/{accountId}/calendars', 'body.name', characters, 100],
  [MESSAGE, 'body.addMailboxIds', count => times(count, newId), 50],
  [MESSAGE, 'body.removeMailboxIds', count => times(count, newId), 50],
  [
    'POST /v1/suppressions/{listId}/entries',
    'body.addresses',
    count => times(count, nth => `a${nth}@example.org`),
    1000,
  ],
  ['PATCH /v1/settings', 'body.redirectUris', count => times(count, nth => `https://example.com/${nth}`), 50],
  ['PATCH /v1/settings', 'body.eventRetentionDays', days => days, 30],
  ['PATCH /v1/settings', 'body.undoSendSeconds', seconds => seconds, 60],
  ['PATCH /v1/settings', 'body.mcpSendPolicy.dailySendLimit', sends => sends, 10_000],
  ['POST /v1/accounts/{accountId}/tokens', 'body.ttlSeconds', seconds => seconds, 86_400],
  [SEND, 'body.to', count => times(count, address), 500],
  [SEND, 'body.subject', characters, 2000],
  [
    'POST /v1/accounts/{accountId}/mail-merges',
    'body.entries',
    count => times(count, nth => ({ to: address(nth) })),
    1000,
  ],
]

/** `body.a.b` with a value becomes `{ body: { a: { b: value } } }`. */
function inputOf(at: string, value: unknown): { query?: Part; body?: Part } {
  return at.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Part
}

test.each(SIZES)('%s takes %s up to its limit, and refuses more', (name, at, make, max) => {
  const operation = find(name)
  expect(isRefusedAt(operation, inputOf(at, make(max)), at)).toBe(false)
  expect(isRefusedAt(operation, inputOf(at, make(max + 1)), at)).toBe(true)
})

test('events are kept for 7 days at least', () => {
  const settings = find('PATCH /v1/settings')
  expect(isRefusedAt(settings, { body: { eventRetentionDays: 7 } }, 'body.eventRetentionDays')).toBe(false)
  expect(isRefusedAt(settings, { body: { eventRetentionDays: 6 } }, 'body.eventRetentionDays')).toBe(true)
})

/** Limits that need more than a schema: the file, and the words of the test that proves them. */
const PROVED: Array<[limit: string, file: string, title: string]> = [
  [
    'apiCallsPerMinute and apiCallsPerMinutePerKey',
    'src/door/rate-windows.test.ts',
    'accept exactly as many of 200 simultaneous requests',
  ],
  [
    'maxAccounts',
    'src/features/accounts/plans/plans.test.ts',
    'allows one of 200 simultaneous requests to add the last account',
  ],
  ['sendsPerDay', 'test/plan-limits.test.ts', 'with one left lets one of'],
  ['storageBytes', 'src/features/mail/content/stored-bytes.test.ts', 'stays within the plan when'],
  ['bodyStorageAllowed', 'test/plan-limits.test.ts', 'that is taken away stays so'],
  ['modules', 'test/routes.test.ts', 'needs its module, once its input is right'],
  [
    'modules, for each of them',
    'src/door/require-module.test.ts',
    'an operation of a module is refused to tenants',
  ],
  ['16 requests in flight', 'src/door/in-flight.test.ts', 'is limited to 16 for one key'],
  ['30 syncs a minute', 'src/features/accounts/accounts/accounts.test.ts', 'rate_limited'],
  ['366 days of usage, kept for 400', 'src/features/tenancy/usage/rules.test.ts', '366 days'],
  ['24 hours of an idempotency key', 'src/door/idempotency.test.ts', 'for 24 hours'],
  ['retention of events', 'src/events/retention.test.ts', 'deletes events older than the retention'],
  ['256 KB of template parameters', 'test/sending/template-renders.test.ts', 'parameters over 256 KB'],
  ['25 MiB of attachments', 'test/sending/outbox.test.ts', 'attachments_too_large'],
  [
    'deleted accounts are kept until their purge is due',
    'src/features/accounts/accounts/purge.test.ts',
    'waits until it is due',
  ],
]

test.each(PROVED)('%s: the test that proves it is there', (_, file, title) => {
  expect(readFileSync(path.resolve(import.meta.dirname, '..', file), 'utf8')).toContain(title)
})
