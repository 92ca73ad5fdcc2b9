import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { COVERAGE, type OperationName, type Walk } from '../../../sdk/coverage.ts'
import { walkAccount } from './walks/account.ts'
import { walkCalendars, walkContacts } from './walks/books.ts'
import { walkConnecting } from './walks/connecting.ts'
import { walkMail } from './walks/mail.ts'
import { walkSending } from './walks/sending.ts'
import { walkSuppressions } from './walks/suppressions.ts'
import { walkTenant } from './walks/tenant.ts'
import { walkWebhooks } from './walks/webhooks.ts'
import { openSdkWorld, type SdkWorld } from './walks/world.ts'

const WALKS: Record<Walk, (world: SdkWorld) => Promise<void>> = {
  connecting: walkConnecting,
  account: walkAccount,
  mail: walkMail,
  sending: walkSending,
  suppressions: walkSuppressions,
  calendars: walkCalendars,
  contacts: walkContacts,
  webhooks: walkWebhooks,
  tenant: walkTenant,
}

let world: SdkWorld
beforeAll(async () => {
  world = await openSdkWorld()
})
afterAll(() => world[Symbol.asyncDispose]())

test.each(Object.keys(WALKS) as Walk[])(
  'sends what a bare fetch sends, and reads what it reads: %s',
  async walk => {
    world.called.clear()
    await WALKS[walk](world)
    const named = (Object.keys(COVERAGE) as OperationName[]).filter(name => COVERAGE[name] === walk)
    expect([...world.called].toSorted()).toEqual(named.toSorted())
  },
)

/** The document, as far as this test reads it. */
interface Document {
  paths: Record<string, Record<string, { operationId: string }>>
}

test('the operations of the document are those that are called', () => {
  const file = new URL('../../../contract/openapi.json', import.meta.url)
  const { paths }: Document = JSON.parse(readFileSync(file, 'utf8'))
  const ids = Object.values(paths).flatMap(path => Object.values(path).map(({ operationId }) => operationId))
  expect(Object.keys(COVERAGE).toSorted()).toEqual(ids.toSorted())
})
