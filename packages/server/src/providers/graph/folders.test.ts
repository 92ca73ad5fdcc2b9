import { expect, test } from 'vitest'
import { CLOUDS } from '../microsoft/clouds.ts'
import type { GraphApi, GraphRequest } from './api.ts'
import { ProviderFailure } from '../failure.ts'
import { askFolders, sightOf } from './folders.ts'
import type { GraphConnection } from './graph-connection.ts'
import { emptySeenState } from './seen-state.ts'

const folder = (id: string) => ({ id, displayName: id, childFolderCount: 0 })

/** A mailbox whose list of folders has these pages, each of which leads to the next. */
function listOf(pageAt: (number: number) => object[], pages: number) {
  const calls = { count: 0 }
  const answer = (number: number) => ({
    value: pageAt(number),
    ...(number + 1 < pages && { '@odata.nextLink': String(number + 1) }),
  })
  const api: Partial<GraphApi> = {
    cloud: CLOUDS.global,
    askAll: async <T>(requests: ReadonlyArray<GraphRequest<T>>) =>
      requests.map(({ schema }) => ({ value: schema.parse(answer(0)), failure: null })),
    follow: async (link, schema) => {
      calls.count += 1
      return schema.parse(answer(Number(link)))
    },
  }
  return { api: api as GraphApi, calls }
}

test('lists a folder once that moved to the next page while the list was read', async () => {
  const { api } = listOf(number => (number === 0 ? ['a', 'b'] : ['b', 'c']).map(folder), 2)
  expect((await askFolders(api, {})).map(({ id }) => id)).toEqual(['a', 'b', 'c'])
})

test('follows no more pages once it has more folders than are kept', async () => {
  const { api, calls } = listOf(
    page => Array.from({ length: 9_000 }, (_, number) => folder(`${page}-${number}`)),
    100,
  )
  expect((await askFolders(api, {})).length).toBe(18_000)
  expect(calls.count).toBe(1)
})

test('believes that the folder of a message is gone once it was not found for a while', async () => {
  let now = 0
  let isThere = false
  const api: Partial<GraphApi> = {
    now: () => now,
    ask: async ({ schema }) => {
      if (!isThere) throw new ProviderFailure('not_found', 'There is no such folder.')
      return { status: 200, value: schema.parse({ ...folder('new'), parentFolderId: 'top' }) }
    },
  }
  const seen = { ...emptySeenState(), hasLooked: true, roots: new Set(['top']) }
  const connection = { api, seen } as unknown as GraphConnection
  const look = () => sightOf(connection, 'new', {})
  expect(await look()).toBe('unknown')
  now = 9_000
  expect(await look()).toBe('unknown')
  isThere = true
  expect(await look()).toBe('visible')
  isThere = false
  now = 20_000
  expect(await look()).toBe('unknown')
  now = 30_000
  expect(await look()).toBe('hidden')
})
