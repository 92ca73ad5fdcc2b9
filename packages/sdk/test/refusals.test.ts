import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  BadRequestError,
  ConflictError,
  ForbiddenError,
  isReason,
  NotFoundError,
  RateLimitedError,
  type Reason,
  ServiceError,
  UnauthenticatedError,
  Waxwing,
  WaxwingError,
} from '../src/index.ts'
import { COVERAGE, type OperationName } from '../coverage.ts'

/** The document, as far as this test reads it. */
interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { responses?: Record<string, Refusal> }
}
interface Operation {
  operationId: OperationName
  responses: Record<string, Refusal & { $ref?: string }>
}
interface Refusal {
  description: string
}

const CLASSES: Record<string, typeof WaxwingError> = {
  400: BadRequestError,
  401: UnauthenticatedError,
  402: ForbiddenError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  412: ConflictError,
  413: BadRequestError,
  422: BadRequestError,
  429: RateLimitedError,
  500: ServiceError,
  502: ServiceError,
  503: ServiceError,
}

const file = new URL('../../contract/openapi.json', import.meta.url)
const { paths, components }: Document = JSON.parse(readFileSync(file, 'utf8'))
const operations = Object.values(paths).flatMap(path => Object.values(path))

/** Each reason that the document has for an operation, with its status. */
function reasonsOf({ responses }: Operation): { status: number; reason: Reason }[] {
  return Object.entries(responses).flatMap(([status, given]) => {
    if (Number(status) < 300) return []
    const named =
      given.$ref === undefined ? given : components.responses?.[given.$ref.split('/').at(-1) ?? '']
    const lines = named?.description.split('\n') ?? []
    return lines.map(line => ({
      status: Number(status),
      // A name that is no reason fails below.
      reason: /^`(\w+)`: /.exec(line)?.[1] as Reason,
    }))
  })
}

type AnyCall = (input: object, options?: object) => PromiseLike<unknown>

/** Calls an operation with made-up ids. */
function callOf(waxwing: Waxwing, name: OperationName): PromiseLike<unknown> {
  const [section = '', method] = name.split('.')
  const found = Object(waxwing)[section]
  const call: AnyCall = method === undefined ? found : found[method]
  const names = ['accountId', 'messageId', 'threadId', 'mailboxId', 'attachmentId', 'identityId', 'outboxId']
  const more = ['templateId', 'listId', 'address', 'reviewId', 'calendarId', 'eventId', 'contactId']
  const others = ['endpointId', 'appId', 'sessionId', 'token']
  return call(Object.fromEntries([...names, ...more, ...others].map(each => [each, 'x'])))
}

test.each(operations.filter(({ operationId }) => operationId !== 'changes.stream'))(
  'each refusal of $operationId has its class',
  async operation => {
    // It is waited for, which sending.test.ts tests.
    const refusals = reasonsOf(operation).filter(({ reason }) => reason !== 'idempotency_key_in_progress')
    expect(refusals.length).toBeGreaterThan(0)
    for (const { status, reason } of refusals) {
      const refused = { defined: true, code: reason, status, message: `Refused: ${reason}.`, data: { a: 1 } }
      const waxwing = new Waxwing({
        baseUrl: 'http://waxwing.test',
        retries: 0,
        fetch: async () => Response.json(refused, { status, headers: { 'retry-after': '999' } }),
        key: 'wk_made_up',
      })
      const error: unknown = await callOf(waxwing, operation.operationId).then(
        () => null,
        (thrown: unknown) => thrown,
      )
      expect({ reason, is: isReason(error, reason) }).toEqual({ reason, is: true })
      expect(error).toBeInstanceOf(CLASSES[status])
      expect({ status, name: (error as WaxwingError).name }).toEqual({ status, name: CLASSES[status]?.name })
      expect(error).toMatchObject({
        status,
        code: reason,
        isDefined: true,
        data: { a: 1 },
        retryAfterSeconds: 999,
      })
    }
  },
)

test('every operation is among those', () => {
  expect(operations.map(({ operationId }) => operationId).toSorted()).toEqual(
    Object.keys(COVERAGE).toSorted(),
  )
})
