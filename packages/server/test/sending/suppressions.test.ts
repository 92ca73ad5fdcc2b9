/** @module-tag postgres-16-in-soak */
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ChangeEvent } from '@waxwing/contract/events.ts'
import type {
  SuppressionEntry,
  SuppressionList,
  SuppressionReview,
} from '@waxwing/contract/sending/suppressions.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { purgeSending } from '../../src/features/sending/purge.ts'
import { type NewReview, recordReviews } from '../../src/features/sending/suppressions/record-reviews.ts'
import { recordSuppressed } from '../../src/features/sending/suppressions/record-suppressed.ts'
import { sweepLists } from '../../src/features/sending/suppressions/sweep-lists.ts'
import { newId } from '../../src/kit/ids.ts'
import type { Caller } from '../caller.ts'
import { openTestApp, type TestApp } from '../open-app.ts'
import { sampleAccount } from '../sample-rows.ts'

interface Page<Item> {
  items: Item[]
  nextCursor: string | null
}

let app: TestApp
let caller: Caller
let tenantId: string

beforeAll(async () => {
  app = await openTestApp()
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(async () => {
  const tenant = await app.createTenant(newId())
  tenantId = tenant.tenantId
  caller = tenant
})

const lists = async () => (await caller.get<{ items: SuppressionList[] }>('/v1/suppressions')).body.items
const entries = async (listId: string, query = '') =>
  (await caller.get<Page<SuppressionEntry>>(`/v1/suppressions/${listId}/entries${query}`)).body
const addresses = async (listId: string, query = '') =>
  (await entries(listId, query)).items.map(({ address }) => address)
const add = (listId: string, given: string[], reason?: string) =>
  caller.post(`/v1/suppressions/${listId}/entries`, { addresses: given, reason })
const reviews = async (query = '') =>
  (await caller.get<Page<SuppressionReview>>(`/v1/suppression-reviews${query}`)).body
const events = async () => {
  const { body } = await caller.get<{ items: ChangeEvent[] }>('/v1/changes')
  return body.items.map(({ type, accountId, data }) => ({ type, accountId, data }))
}

describe('suppression lists', () => {
  test('begin with the global one, which cannot be changed', async () => {
    const counts = { unsubscribe: 0, bounce: 0, api: 0, reply: 0, complaint: 0, inactive: 0 }
    expect(await lists()).toMatchObject([{ id: 'global', name: 'Global', count: 0, counts, createdAt: null }])
    expect(await entries('global')).toEqual({ items: [], nextCursor: null })
    const answers = [
      await caller.post('/v1/suppressions', { id: 'global', name: 'Mine' }),
      await caller.patch('/v1/suppressions/global', { name: 'Mine' }),
      await caller.delete('/v1/suppressions/global?withEntries=true'),
    ]
    expect(answers).toMatchObject([
      { status: 409, body: { code: 'suppression_list_exists' } },
      { status: 400, body: { code: 'invalid_input', data: { issues: [{ path: ['listId'] }] } } },
      { status: 400, body: { code: 'invalid_input' } },
    ])
  })

  test('are created, listed by id, changed and deleted', async () => {
    const news = await caller.post('/v1/suppressions', { id: 'news', name: 'News', description: 'Monthly' })
    expect(news).toMatchObject({
      status: 200,
      body: { id: 'news', name: 'News', description: 'Monthly', count: 0 },
    })
    await caller.post('/v1/suppressions', { id: 'a-b', name: 'A' })
    await caller.post('/v1/suppressions', { id: 'a0', name: 'B' })
    expect((await lists()).map(({ id }) => id)).toEqual(['global', 'a-b', 'a0', 'news'])
    const again = await caller.post('/v1/suppressions', { id: 'news', name: 'Other' })
    expect(again).toMatchObject({ status: 409, body: { code: 'suppression_list_exists' } })
    const renamed = await caller.patch('/v1/suppressions/news', { name: 'Letters' })
    expect(renamed.body).toEqual({ ...(news.body as object), name: 'Letters' })
    const cleared = await caller.patch('/v1/suppressions/news', { description: null })
    expect(cleared.body).toMatchObject({ name: 'Letters', description: null })
    expect(await caller.delete('/v1/suppressions/a0')).toMatchObject({ status: 200, body: null })
    expect((await lists()).map(({ id }) => id)).toEqual(['global', 'a-b', 'news'])
  })

  test('that do not exist, or have a bad id, are refused', async () => {
    const missing = { status: 404, body: { code: 'suppression_list_not_found' } }
    for (const id of ['missing', 'Not-An-Id', '%00', '-']) {
      const path = `/v1/suppressions/${id}`
      expect(await caller.patch(path, { name: 'x' })).toMatchObject(missing)
      expect(await caller.delete(path)).toMatchObject(missing)
      expect(await caller.get(`${path}/entries`)).toMatchObject(missing)
      expect(await caller.delete(`${path}/entries/a@example.org`)).toMatchObject(missing)
      if (id !== 'missing') expect(await add(id, ['a@example.org'])).toMatchObject(missing)
    }
    for (const body of [
      { id: 'Caps', name: 'x' },
      { id: 'ok', name: '' },
      { id: 'a'.repeat(64), name: 'x' },
    ])
      expect(await caller.post('/v1/suppressions', body)).toMatchObject({ body: { code: 'invalid_input' } })
  })

  test('with addresses are deleted only when that is asked for', async () => {
    await add('news', ['ada@example.org', 'grace@example.org'])
    await add('global', ['ada@example.org'])
    const refused = await caller.delete('/v1/suppressions/news')
    expect(refused).toMatchObject({ status: 409, body: { code: 'suppression_list_not_empty' } })
    expect((await caller.delete('/v1/suppressions/news?withEntries=true')).status).toBe(200)
    expect((await lists()).map(({ id, count }) => [id, count])).toEqual([['global', 1]])
    await add('news', ['max@example.org'])
    await sweepLists(app.db, new AbortController().signal)
    expect(await addresses('news')).toEqual(['max@example.org'])
    const { rows } = await sql`
      select from suppression_entry join suppression_list on key = list_key where tenant_id = ${tenantId}
    `.execute(app.db)
    expect(rows).toHaveLength(2)
  })

  test('are at most 1,000 beside the global one', async () => {
    await sql`
      insert into suppression_list (key, tenant_id, id, name)
      select gen_random_uuid(), ${tenantId}, 'list-' || n, n from generate_series(1, 999) as n
    `.execute(app.db)
    await add('global', ['ada@example.org'])
    const answers = await Promise.all(
      ['x', 'y', 'z'].map(id => caller.post('/v1/suppressions', { id, name: 'last' })),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400, 400])
    expect(await add('too-many', ['ada@example.org'])).toMatchObject({
      status: 400,
      body: { code: 'invalid_input', data: { issues: [{ path: ['listId'] }] } },
    })
    expect(await lists()).toHaveLength(1001)
  })

  test('of another tenant are not seen', async () => {
    await add('news', ['ada@example.org'])
    const other = await app.createTenant(newId())
    expect((await other.get('/v1/suppressions/news/entries')).status).toBe(404)
    expect((await other.delete('/v1/suppressions/news?withEntries=true')).status).toBe(404)
    expect(await addresses('news')).toEqual(['ada@example.org'])
  })
})

describe('suppressed addresses', () => {
  test('are added as they are compared, each once, and stay as they were', async () => {
    const first = await add(
      'news',
      ['Ada+tag@Example.ORG', 'ada+tag@example.org', 'jö@bücher.example'],
      'Asked',
    )
    expect(first).toMatchObject({ status: 200, body: { added: 2, alreadyListed: 0 } })
    const second = await add('news', ['JÖ@xn--bcher-kva.example', 'ada@example.org'], 'Later')
    expect(second.body).toEqual({ added: 1, alreadyListed: 1 })
    expect((await entries('news')).items).toMatchObject([
      { address: 'ada@example.org', source: 'api', reason: 'Later' },
      { address: 'jö@xn--bcher-kva.example', source: 'api', reason: 'Asked' },
      { address: 'ada+tag@example.org', source: 'api', reason: 'Asked' },
    ])
    expect(await lists()).toMatchObject([
      { id: 'global', count: 0 },
      { id: 'news', name: 'news', count: 3 },
    ])
    expect(await events()).toEqual([])
  })

  test('are added all or none', async () => {
    const bad = await add('news', ['ada@example.org', 'no address'])
    expect(bad).toMatchObject({ status: 400, body: { data: { issues: [{ path: ['addresses', 1] }] } } })
    const many = Array.from({ length: 1001 }, (_, n) => `a${n}@example.org`)
    expect((await add('news', many)).status).toBe(400)
    expect((await add('news', [])).status).toBe(400)
    expect((await add('news', ['ada@example.org'], 'r'.repeat(201))).status).toBe(400)
    expect(await lists()).toHaveLength(1)
    expect((await add('news', many.slice(1))).body).toEqual({ added: 1000, alreadyListed: 0 })
  })

  test('are paged newest first, and filtered', async () => {
    const given = Array.from({ length: 7 }, (_, n) => `user${n}@${n % 2 ? 'odd' : 'even'}.example`)
    await add('news', given)
    await inTransaction(app.db, tenantId, unit =>
      recordSuppressed(unit, [
        {
          listId: 'news',
          address: 'b@odd.example',
          source: 'bounce',
          reason: '',
          accountId: null,
          outboxId: null,
        },
      ]),
    )
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: Page<SuppressionEntry> = await entries('news', `?limit=3${cursor && `&cursor=${cursor}`}`)
      seen.push(...page.items.map(({ address }) => address))
      cursor = page.nextCursor
    }
    expect(seen).toEqual(['b@odd.example', ...given.toReversed()])
    expect(await addresses('news', '?address=ODD.')).toHaveLength(4)
    expect(await addresses('news', '?address=%25')).toEqual([])
    expect(await addresses('news', '?source=bounce')).toEqual(['b@odd.example'])
    expect(await addresses('news', '?source=bounce&address=even')).toEqual([])
    const { nextCursor } = await entries('news', '?limit=1')
    const foreign = await caller.get(`/v1/suppressions/news/entries?limit=1&source=api&cursor=${nextCursor}`)
    expect(foreign).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
  })

  test('are looked through in bounded pages', async () => {
    await add('news', ['needle@example.org'])
    await sql`
      insert into suppression_entry (list_key, address, id, source, reason)
      select key, n || '@example.org', gen_random_uuid(), 'api', ''
      from suppression_list, generate_series(1, 60000) as n where tenant_id = ${tenantId}
    `.execute(app.db)
    const first = await entries('news', '?address=needle')
    expect(first.items).toEqual([])
    const second = await entries('news', `?address=needle&cursor=${first.nextCursor}`)
    expect(second).toMatchObject({ items: [{ address: 'needle@example.org' }], nextCursor: null })
  })

  test('are taken off one by one', async () => {
    await add('news', ['a/b+c@example.org', 'ada@example.org'])
    const path = '/v1/suppressions/news/entries'
    expect(await caller.delete(`${path}/${encodeURIComponent('A/b+c@EXAMPLE.org')}`)).toMatchObject({
      status: 200,
      body: null,
    })
    const again = await caller.delete(`${path}/${encodeURIComponent('a/b+c@example.org')}`)
    expect(again).toMatchObject({ status: 404, body: { code: 'suppression_entry_not_found' } })
    expect(await lists()).toMatchObject([{ id: 'global' }, { id: 'news', count: 1, counts: { api: 1 } }])
  })
})

describe('reviews', () => {
  const review = (accountId: string, change: Partial<NewReview> = {}): NewReview => ({
    listId: 'news',
    address: 'Grace@Example.org',
    source: 'reply',
    accountId,
    messageId: newId(),
    outboxId: newId(),
    probability: 0.95,
    alternateContacts: ['new@example.org'],
    ...change,
  })
  const queue = (...given: NewReview[]) => inTransaction(app.db, tenantId, unit => recordReviews(unit, given))

  test('wait once for each address of a list, until they are approved', async () => {
    const { id: accountId } = await sampleAccount(app.db, tenantId)
    const reply = review(accountId)
    const inactive = review(accountId, { listId: 'global', source: 'inactive' })
    expect(await queue(reply, review(accountId), inactive)).toBe(2)
    expect(await queue(review(accountId))).toBe(0)
    expect((await reviews()).items.map(({ listId }) => listId).toSorted()).toEqual(['global', 'news'])
    const { items } = await reviews('?listId=news')
    const { outboxId: _, ...shown } = reply
    expect(items).toMatchObject([{ ...shown, address: 'grace@example.org' }])
    const path = `/v1/suppression-reviews/${items[0]!.id}`
    expect(await caller.post(`${path}/approve`)).toMatchObject({ status: 200, body: { added: true } })
    expect((await caller.post(`${path}/approve`)).body).toMatchObject({
      code: 'suppression_review_not_found',
    })
    const entry = { address: 'grace@example.org', source: 'reply' }
    expect((await entries('news')).items).toMatchObject([entry])
    expect(await events()).toMatchObject([
      {
        type: 'suppression.created',
        accountId,
        data: { ...entry, listId: 'news', outboxId: reply.outboxId },
      },
    ])
    expect(await queue(reply)).toBe(0)
  })

  test('can be dismissed, and are queued again by a later detection', async () => {
    const { id: accountId } = await sampleAccount(app.db, tenantId)
    await queue(review(accountId))
    const [waiting] = (await reviews()).items
    expect(await caller.post(`/v1/suppression-reviews/${waiting!.id}/dismiss`)).toMatchObject({
      status: 200,
      body: null,
    })
    expect((await caller.get('/v1/suppressions/news/entries')).status).toBe(404)
    expect(await queue(review(accountId))).toBe(1)
    expect(await events()).toEqual([])
  })

  test('of an address that was listed meanwhile add nothing', async () => {
    const { id: accountId } = await sampleAccount(app.db, tenantId)
    await queue(review(accountId))
    await add('news', ['grace@example.org'])
    const [waiting] = (await reviews()).items
    expect((await caller.post(`/v1/suppression-reviews/${waiting!.id}/approve`)).body).toEqual({
      added: false,
    })
    expect(await events()).toEqual([])
  })

  test('go with their list, and stay within their tenant', async () => {
    const { id: accountId } = await sampleAccount(app.db, tenantId)
    await add('news', ['ada@example.org'])
    await queue(review(accountId), review(accountId, { listId: 'global' }))
    const other = await app.createTenant(newId())
    const [waiting] = (await reviews()).items
    expect((await other.post(`/v1/suppression-reviews/${waiting!.id}/approve`)).status).toBe(404)
    await caller.delete('/v1/suppressions/news?withEntries=true')
    expect((await reviews()).items).toMatchObject([{ listId: 'global' }])
    expect((await caller.post('/v1/suppression-reviews/none/dismiss')).status).toBe(404)
  })

  test('go with their account when it is purged, and its suppressed addresses stay', async () => {
    const { id: accountId } = await sampleAccount(app.db, tenantId)
    await queue(review(accountId), review(accountId, { address: 'other@example.org' }))
    const [waiting] = (await reviews()).items
    await caller.post(`/v1/suppression-reviews/${waiting!.id}/approve`)
    await purgeSending(app.db, accountId, new AbortController().signal)
    expect((await reviews()).items).toEqual([])
    expect(await addresses('news')).toHaveLength(1)
  })
})
