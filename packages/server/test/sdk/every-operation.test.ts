import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { COVERAGE, type OperationName, type Walk } from '../../../sdk/coverage.ts'
import { WALKS } from './walks/walks.ts'
import { openSdkWorld, type SdkWorld } from './walks/world.ts'

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
