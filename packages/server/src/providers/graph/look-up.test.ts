import { expect, test } from 'vitest'
import type { HandedOver } from '../sending.ts'
import type { GraphApi } from './api.ts'
import type { GraphConnection } from './graph-connection.ts'
import { lookUp } from './look-up.ts'

test('gives up the search in sent mail after pages that are empty and lead to others', async () => {
  const page = { value: [], '@odata.nextLink': 'another page' }
  let followed = 0
  const api: Partial<GraphApi> = {
    now: () => 1_000,
    ask: async ({ schema }) => ({ status: 200, value: schema.parse(page) }),
    follow: async (_, schema) => {
      followed += 1
      if (followed > 1_000) throw new Error('The search does not end')
      return schema.parse(page)
    },
  }
  const message: HandedOver = {
    trace: null,
    internetMessageId: '<a@b>',
    outboxId: 'o',
    handedOverAt: new Date(0),
  }
  const found = await lookUp({ api, delegate: null } as unknown as GraphConnection, message)
  expect(found).toEqual({ outcome: 'not_known' })
  expect(followed).toBe(199)
})
