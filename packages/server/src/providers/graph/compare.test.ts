import { expect, test } from 'vitest'
import type { FollowOptions } from '../mail.ts'
import { CLOUDS } from '../microsoft/clouds.ts'
import type { GraphApi } from './api.ts'
import { compareFolder } from './compare.ts'
import { freshCursor } from './cursor.ts'
import { LinkExpired } from './failure.ts'
import type { GraphConnection } from './graph-connection.ts'
import { emptySeenState } from './seen-state.ts'

test('walks on over several passes through a folder whose link has expired and that has too many pages', async () => {
  const page = (number: number) => ({ value: [], '@odata.nextLink': `page ${number}` })
  let pages = 0
  const api: Partial<GraphApi> = {
    cloud: CLOUDS.global,
    now: () => 1_000,
    requireOwn: () => {},
    ask: async ({ schema }) => ({ status: 200, value: schema.parse(page(0)) }),
    follow: async (link, schema) => {
      if (link === 'expired') throw new LinkExpired('conflict', 'gone')
      return schema.parse(page(++pages))
    },
  }
  const seen = { ...emptySeenState(), hasLooked: true }
  const connection = { api, seen } as unknown as GraphConnection
  const state = { total: 1, unread: 0, modifiedAt: null, mark: null }
  const cursor = { ...freshCursor(null, state, 0), stage: 'follow' as const, link: 'expired' }
  const options = {
    cursor,
    since: null,
    skip: new Set(),
    lacking: async () => [],
  } as unknown as FollowOptions
  const steps = []
  for await (const step of compareFolder(connection, 'inbox', options)) steps.push(step)
  expect(steps).toMatchObject([{ type: 'reset', keys: 'kept', cursor: { stage: 'walk', link: null } }])
})
