/** @module-tag postgres-16-in-soak */
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { TestTenant } from '../../../../test/open-app.ts'
import { sampleAccount, sampleMailbox, sampleMessages } from '../../../../test/sample-rows.ts'
import { seeded } from '../../../../test/seeded.ts'
import { useTestApp } from '../../../../test/use-app.ts'

const { newTenant } = useTestApp()

interface Page {
  items: MessageSummary[]
  nextCursor: string | null
}

async function openMailApp() {
  const app = await newTenant()
  const account = await sampleAccount(app.db, app.tenantId)
  const mailbox = await sampleMailbox(app.db, account, { name: 'Inbox', role: 'inbox' })
  return { app, account, mailbox, path: `/v1/accounts/${account.id}/messages` }
}

/** Follows a list to its end; `between` runs after each page. */
async function walk(
  app: TestTenant,
  path: string,
  between?: (page: number) => Promise<unknown>,
): Promise<MessageSummary[]> {
  const items: MessageSummary[] = []
  let cursor: string | null = null
  for (let page = 0; page < 1000; page++) {
    const next: string = cursor === null ? '' : `&cursor=${cursor}`
    const { status, body } = await app.get<Page>(`${path}${next}`)
    expect(status).toBe(200)
    items.push(...body.items)
    if (body.nextCursor === null) return items
    cursor = body.nextCursor
    await between?.(page)
  }
  throw new Error('The list has no end')
}

describe('the pages of GET /v1/accounts/{accountId}/messages', () => {
  test('go on exactly where the last one ended when many messages came at one instant', async () => {
    const { app, account, mailbox, path } = await openMailApp()
    const receivedAt = new Date('2026-03-01T10:00:00.001Z')
    const many = Array.from({ length: 57 }, (_, nth) => ({
      mailboxIds: [mailbox.id],
      receivedAt: nth % 19 === 0 ? new Date(receivedAt.getTime() + 1) : receivedAt,
    }))
    const ids = await sampleMessages(app.db, account, many)

    for (const query of [
      '?limit=1',
      '?limit=7',
      '?limit=19',
      '?limit=57',
      `?limit=5&mailboxId=${mailbox.id}`,
    ]) {
      const listed = await walk(app, path + query)
      expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(ids))
      expect(listed).toHaveLength(ids.length)
      const keys = listed.map(({ receivedAt: at, id }) => at + id)
      expect(keys).toEqual(keys.toSorted().toReversed())
    }
  })

  test('repeat no message and miss none that was there all the time, while others come and go', async () => {
    const { app, account, mailbox, path } = await openMailApp()
    const random = seeded('pages under change')
    const minute = (nth: number) => new Date(Date.UTC(2026, 0, 1) + Math.floor(nth) * 60_000)
    const sample = (nth: number) => ({ mailboxIds: [mailbox.id], receivedAt: minute(nth) })
    // Four messages a minute, so that pages end within minutes.
    const ids = await sampleMessages(
      app.db,
      account,
      Array.from({ length: 10_000 }, (_, nth) => sample(nth / 4)),
    )
    const lasting = new Set(ids)

    const listed = await walk(app, `${path}?limit=200&mailboxId=${mailbox.id}`, async () => {
      const gone = Array.from({ length: 40 }, () => random.pick(ids))
      for (const id of gone) lasting.delete(id)
      await sql`delete from message where id = any(${gone}::uuid[])`.execute(app.db)
      const arrivals = Array.from({ length: 40 }, () => sample(random.between(0, 2_500)))
      await sampleMessages(app.db, account, arrivals)
    })

    const seen = new Set(listed.map(({ id }) => id))
    expect(seen.size).toBe(listed.length)
    expect([...lasting].filter(id => !seen.has(id))).toEqual([])
    expect(lasting.size).toBeGreaterThan(5_000)
  })
})

describe('a cursor of GET /v1/accounts/{accountId}/messages', () => {
  async function openWithCursor() {
    const opened = await openMailApp()
    const { app, account, mailbox, path } = opened
    await sampleMessages(
      app.db,
      account,
      Array.from({ length: 9 }, () => ({ mailboxIds: [mailbox.id] })),
    )
    const { body } = await app.get<Page>(`${path}?limit=2&unread=true`)
    return { ...opened, cursor: body.nextCursor! }
  }
  const refused = { status: 400, body: { defined: true, code: 'invalid_cursor' } }

  test('takes another limit, and no other filter, list, account or tenant', async () => {
    const { app, path, cursor, mailbox } = await openWithCursor()
    expect(await app.get(`${path}?unread=true&limit=200&cursor=${cursor}`)).toMatchObject({ status: 200 })

    for (const filters of [
      '',
      '&unread=false',
      '&unread=true&flagged=false',
      `&unread=true&mailboxId=${mailbox.id}`,
    ]) {
      expect(await app.get(`${path}?limit=2&cursor=${cursor}${filters}`)).toMatchObject(refused)
    }
    const sibling = await sampleAccount(app.db, app.tenantId)
    expect(await app.get(`/v1/accounts/${sibling.id}/messages?unread=true&cursor=${cursor}`)).toMatchObject(
      refused,
    )
    expect(await app.get(`${path.replace('messages', 'threads')}?cursor=${cursor}`)).toMatchObject(refused)
    expect(await app.get(`/v1/changes?cursor=${cursor}`)).toMatchObject(refused)
    const stranger = await app.createTenant()
    const theirs = await sampleAccount(app.db, stranger.tenantId)
    expect(
      await stranger.get(`/v1/accounts/${theirs.id}/messages?unread=true&cursor=${cursor}`),
    ).toMatchObject(refused)
  })

  test('is refused however it is forged', async () => {
    const { app, path, cursor } = await openWithCursor()
    const random = seeded('forged cursors')
    const answers = new Map<string, number>()
    async function forge() {
      const octets = Buffer.from(cursor, 'base64url')
      const at = random.between(0, octets.length - 1)
      octets[at] = octets[at]! ^ (1 << random.between(0, 7))
      const { status, body } = await app.get(
        `${path}?limit=2&unread=true&cursor=${octets.toString('base64url')}`,
      )
      const answer = `${status} ${String(body['code'])}`
      answers.set(answer, (answers.get(answer) ?? 0) + 1)
    }
    for (let round = 0; round < 100; round++) await Promise.all(Array.from({ length: 10 }, forge))
    expect([...answers]).toEqual([['400 invalid_cursor', 1_000]])
  })
})
