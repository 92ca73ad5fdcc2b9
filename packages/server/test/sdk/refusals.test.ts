import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COVERAGE, type OperationName } from '../../../sdk/coverage.ts'
import { OPERATIONS } from '../../../sdk/src/operations.ts'
import {
  BadRequestError,
  ForbiddenError,
  NotFoundError,
  UnauthenticatedError,
  Waxwing,
} from '../../../sdk/src/index.ts'
import { newId } from '../../src/kit/ids.ts'
import { openTestApp, type TestApp } from '../open-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await openTestApp()
})
afterAll(() => app[Symbol.asyncDispose]())

const NAMES = (Object.keys(COVERAGE) as OperationName[]).filter(name => name !== 'changes.stream')
const isHosted = (name: OperationName) => name.startsWith('hosted')
/** Operations that need a credential. */
const GUARDED = NAMES.filter(name => !isHosted(name) && name !== 'openapi')

function lineOf(name: OperationName): string {
  const [section = '', method = ''] = name.split('.')
  const found = Object(OPERATIONS)[section]
  return typeof found === 'string' ? found : found[method]
}

type AnyCall = (input: object) => PromiseLike<unknown>

/** Calls an operation with ids that nothing has, and no body. @returns what it throws; null if it succeeds */
function refusalOf(name: OperationName, key: string | null): Promise<unknown> {
  const waxwing = new Waxwing({ baseUrl: app.address, retries: 0, ...(key === null ? {} : { key }) })
  const [section = '', method] = name.split('.')
  const found = Object(waxwing)[section]
  const call: AnyCall = method === undefined ? found : found[method]
  const names = [...lineOf(name).matchAll(/\{(\w+)\}/g)].map(([, each = '']) => each)
  const input = Object.fromEntries(names.map(each => [each, newId()]))
  return Promise.resolve(call(input)).then(
    () => null,
    (error: unknown) => error,
  )
}

describe('a refusal of the service has its class', () => {
  test.each(GUARDED)('without a key: %s', async name => {
    const error = await refusalOf(name, null)
    expect(error).toBeInstanceOf(UnauthenticatedError)
    expect(error).toMatchObject({
      code: 'unauthenticated',
      status: 401,
      outcome: 'not_applied',
      isDefined: true,
    })
  })

  test.each(GUARDED)('with a key that has no scope for it: %s', async name => {
    const { text } = await app.createKey({ scopes: [] })
    const error = await refusalOf(name, text)
    expect(error).toBeInstanceOf(ForbiddenError)
    expect(error).toMatchObject({ code: 'missing_scope', status: 403, isDefined: true })
  })

  test.each(NAMES.filter(name => lineOf(name).includes('{')))('with ids that nothing has: %s', async name => {
    const error = await refusalOf(name, isHosted(name) ? null : app.key)
    // A body that is missing is refused before the id is looked up.
    const Class = error instanceof BadRequestError ? BadRequestError : NotFoundError
    expect(error).toBeInstanceOf(Class)
    expect(error).toMatchObject(
      Class === NotFoundError
        ? { code: expect.stringMatching(/_not_found$|^not_found$|^unknown_/), isDefined: true }
        : { code: 'invalid_input', data: { issues: expect.any(Array) } },
    )
  })
})
