import type { ChangeEvent } from '@waxwing/contract/events.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestApp, type TestTenant } from '../../../../test/open-app.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { useTestApp } from '../../../../test/use-app.ts'
import { recordRestore } from '../../../database/feed-epoch.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { type Announcement } from '../../../events/announcement.ts'

// Events and their ids are shared by all tenants: a test that deletes events or sets ids has an app of its own.
const { newTenant } = useTestApp()

interface Page {
  items: ChangeEvent[]
  nextCursor: string
}

const noted = (accountId: string | null, note: number | string): Announcement => ({
  type: 'contact.created',
  accountId,
  // The feed passes data on as it is.
  data: { note } as never,
})
const purged = (accountId: string): Announcement => ({
  type: 'account.purged',
  accountId: null,
  data: { accountId, externalRef: null },
})

const announce = (app: TestTenant, ...announcements: Announcement[]) =>
  inTransaction(app.db, app.tenantId, async unit => unit.announce(...announcements))

const read = async (caller: Pick<TestTenant, 'get'>, query = '') => {
  const { status, body } = await caller.get<Page>(`/v1/changes${query}`)
  expect(status).toBe(200)
  return body
}
const notes = ({ items }: Page) => items.map(({ data }) => data['note'])

describe('GET /v1/changes', () => {
  test('lists events oldest first, with a cursor that continues', async () => {
    const app = await newTenant()
    const account = await sampleAccount(app.db, app.tenantId)
    await announce(app, noted(account.id, 1), noted(null, 2))
    await announce(app, purged(account.id))

    const first = await read(app, '?limit=2')
    expect(first.items).toEqual([
      {
        id: expect.stringMatching(/^[0-9]{1,19}$/),
        type: 'contact.created',
        accountId: account.id,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        data: { note: 1 },
      },
      expect.objectContaining({ accountId: null, data: { note: 2 } }),
    ])
    const second = await read(app, `?cursor=${first.nextCursor}`)
    expect(second.items).toMatchObject([{ type: 'account.purged', data: { accountId: account.id } }])
    const third = await read(app, `?cursor=${second.nextCursor}`)
    expect(third).toEqual({ items: [], nextCursor: second.nextCursor })
    await announce(app, noted(null, 3))
    expect(notes(await read(app, `?cursor=${third.nextCursor}`))).toEqual([3])
  })

  test('is empty with a cursor before the first event', async () => {
    await using app = await openTestApp()
    await sql`delete from event`.execute(app.db)
    const { items, nextCursor } = await read(app)
    expect(items).toEqual([])
    await announce(app, noted(null, 1))
    expect(notes(await read(app, `?cursor=${nextCursor}`))).toEqual([1])
  })

  test('orders ids as numbers', async () => {
    await using app = await openTestApp()
    await sql`select setval('event_id', 98)`.execute(app.db)
    for (const note of [1, 2, 3]) await announce(app, noted(null, note))
    const page = await read(app, '?types=contact.created')
    expect(page.items.map(({ id }) => id)).toEqual(['99', '100', '101'])
    await sql`select setval('event_id', 9223372036854775800)`.execute(app.db)
    await announce(app, noted(null, 4))
    expect((await read(app, `?cursor=${page.nextCursor}`)).items).toMatchObject([
      { id: '9223372036854775801' },
    ])
  })

  test('with start=now returns no event, only a cursor for the next ones', async () => {
    const app = await newTenant()
    await announce(app, noted(null, 'before'))
    const { items, nextCursor } = await read(app, '?start=now')
    expect(items).toEqual([])
    expect(await read(app, `?cursor=${nextCursor}`)).toEqual({ items: [], nextCursor })
    await announce(app, noted(null, 'after'))
    expect(notes(await read(app, `?cursor=${nextCursor}&start=now`))).toEqual(['after'])
  })

  test(
    'filters by types, repeated or separated by commas, and skips the others',
    { tags: ['postgres-16'] },
    async () => {
      const app = await newTenant()
      const account = await sampleAccount(app.db, app.tenantId)
      await announce(app, noted(null, 1), purged(account.id), noted(null, 2), purged(account.id))

      expect(notes(await read(app, '?types=contact.created'))).toEqual([1, 2])
      for (const types of [
        'types=contact.created,account.purged',
        'types=contact.created&types=account.purged',
      ]) {
        expect((await read(app, `?${types}`)).items).toHaveLength(4)
      }
      const none = await read(app, '?types=calendar.created')
      expect(none.items).toEqual([])
      expect((await read(app, `?cursor=${none.nextCursor}`)).items).toEqual([])
      for (const types of ['message.exploded', '', 'contact.created,', 'CONTACT.CREATED']) {
        expect(await app.get(`/v1/changes?types=${types}`)).toMatchObject({
          status: 400,
          body: { code: 'invalid_input' },
        })
      }
    },
  )

  test('scans a limited number of events for a page of rare ones', async () => {
    const app = await newTenant()
    const account = await sampleAccount(app.db, app.tenantId)
    await announce(app, ...Array.from({ length: 10_500 }, (_, nth) => noted(null, nth)))
    await announce(app, purged(account.id))

    const pages: number[] = []
    let cursor = ''
    for (let round = 0; round < 4; round++) {
      const page = await read(app, `?types=account.purged${cursor && `&cursor=${cursor}`}`)
      pages.push(page.items.length)
      cursor = page.nextCursor
    }
    expect(pages).toEqual([0, 0, 1, 0])
  })

  test('lets types, limit and the key change between pages', { tags: ['postgres-16'] }, async () => {
    const app = await newTenant()
    const account = await sampleAccount(app.db, app.tenantId)
    await announce(app, noted(account.id, 1), noted(null, 2), noted(account.id, 3))
    const { nextCursor } = await read(app, '?limit=1&types=contact.created')
    const bound = app.as((await app.createKey({ accountIds: [account.id] })).text)
    expect(notes(await read(bound, `?limit=200&cursor=${nextCursor}`))).toEqual([3])
  })

  test('shows a bound key only the events of its accounts', { tags: ['postgres-16'] }, async () => {
    const app = await newTenant()
    const accounts = await Promise.all(Array.from({ length: 4 }, () => sampleAccount(app.db, app.tenantId)))
    const stranger = await app.createTenant()
    for (let note = 0; note < 40; note++) {
      await announce(app, noted(accounts[note % 5]?.id ?? null, note))
      await inTransaction(app.db, stranger.tenantId, async unit => unit.announce(noted(null, 'theirs')))
    }
    for (const nths of [[0], [1, 3], [0, 1, 2, 3]]) {
      const accountIds = nths.map(nth => accounts[nth]!.id)
      const bound = app.as((await app.createKey({ accountIds })).text)
      const seen: unknown[] = []
      let cursor = ''
      for (let page: Page | null = null; page === null || page.items.length > 0;) {
        page = await read(bound, `?limit=3${cursor && `&cursor=${cursor}`}`)
        seen.push(...notes(page))
        cursor = page.nextCursor
      }
      expect(seen).toEqual(
        Array.from({ length: 40 }, (_, note) => note).filter(note => nths.includes(note % 5)),
      )
    }
    expect(notes(await read(stranger, '?limit=200'))).toEqual(Array.from({ length: 40 }, () => 'theirs'))
  })

  test('continues from the oldest retained event when the cursor is older', async () => {
    await using app = await openTestApp()
    await announce(app, noted(null, 1))
    const { nextCursor } = await read(app, '?limit=1')
    await announce(app, noted(null, 2), noted(null, 3))
    await sql`delete from event where (data ->> 'note')::int < 3`.execute(app.db)
    expect(notes(await read(app, `?cursor=${nextCursor}`))).toEqual([3])
    await sql`delete from event`.execute(app.db)
    await announce(app, noted(null, 4))
    expect(notes(await read(app, `?cursor=${nextCursor}`))).toEqual([4])
  })

  test('refuses cursors from before a restore, with advice, and uses no event id twice', async () => {
    await using app = await openTestApp()
    await announce(app, noted(null, 1), noted(null, 2))
    const before = await read(app)
    const ids = before.items.map(({ id }) => BigInt(id))
    await sql`delete from event where (data ->> 'note')::int = 2`.execute(app.db)
    await recordRestore(app.db)
    await announce(app, noted(null, 3))

    for (const query of ['', '&limit=1', '&types=contact.created', '&start=now']) {
      expect(await app.get(`/v1/changes?cursor=${before.nextCursor}${query}`)).toMatchObject({
        status: 400,
        body: {
          code: 'invalid_cursor',
          message: expect.stringContaining('compare what you hold with the lists'),
        },
      })
    }
    const after = await read(app)
    expect(notes(after)).toEqual([1, 3])
    expect(BigInt(after.items.at(-1)!.id)).toBeGreaterThan(ids.at(-1)! + 1_000_000_000n)
    expect(notes(await read(app, `?cursor=${after.nextCursor}`))).toEqual([])
    const { nextCursor } = await read(app, '?start=now')
    await announce(app, noted(null, 4))
    expect(notes(await read(app, `?cursor=${nextCursor}`))).toEqual([4])
    await recordRestore(app.db)
    expect((await app.get(`/v1/changes?cursor=${nextCursor}`)).status).toBe(400)
  })

  test('accepts cursors from before cursors had an epoch', async () => {
    const app = await newTenant()
    await announce(app, noted(null, 1), noted(null, 2))
    const { nextCursor, items } = await read(app, '?limit=1')
    // The payload comes before the 16 bytes that authenticate it.
    const payload = Buffer.from(nextCursor, 'base64url').subarray(0, -16).toString()
    expect(JSON.parse(payload)).toEqual([items[0]?.id])
    expect(notes(await read(app, `?cursor=${nextCursor}`))).toEqual([2])
  })

  test('detects from a cursor that the database was restored to a time before it', async () => {
    await using app = await openTestApp()
    await announce(app, noted(null, 1))
    const { rows } = await sql<{ id: string }>`select last_value as id from event_id`.execute(app.db)
    await announce(app, noted(null, 2), noted(null, 3))
    const { nextCursor, items } = await read(app)
    // Has the same effect as copying back the data folder of a stopped service.
    await sql`delete from event where (data ->> 'note')::int > 1`.execute(app.db)
    await sql`select setval('event_id', ${rows[0]?.id}::bigint)`.execute(app.db)

    expect(await app.get(`/v1/changes?cursor=${nextCursor}`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_cursor' },
    })
    await announce(app, noted(null, 4))
    const after = await read(app)
    expect(notes(after)).toEqual([1, 4])
    expect(BigInt(after.items[1]!.id)).toBeGreaterThan(BigInt(items[2]!.id))
    expect((await app.get(`/v1/changes?cursor=${nextCursor}`)).status).toBe(400)
  })

  test('refuses a cursor of another tenant, and a limit out of bounds', async () => {
    const app = await newTenant()
    const stranger = await app.createTenant()
    const { nextCursor } = await read(stranger)
    for (const cursor of [nextCursor, '', '0', 'AAAA', 'x'.repeat(5000)]) {
      const { status, body } = await app.get(`/v1/changes?cursor=${cursor}`)
      expect({ status, body }).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
    }
    for (const limit of [0, 201]) {
      expect(await app.get(`/v1/changes?limit=${limit}`)).toMatchObject({
        status: 400,
        body: { code: 'invalid_input' },
      })
    }
  })
})
