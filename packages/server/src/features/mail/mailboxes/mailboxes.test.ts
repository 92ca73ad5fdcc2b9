import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import { describe, expect, test } from 'vitest'
import { sampleAccount, sampleMailbox } from '../../../../test/sample-rows.ts'
import { useTestApp } from '../../../../test/use-app.ts'

const { newTenant } = useTestApp()

describe('GET /v1/accounts/{accountId}/mailboxes', () => {
  test('shows every mailbox of the account, parents before children', async () => {
    const app = await newTenant()
    const account = await sampleAccount(app.db, app.tenantId)
    await sampleMailbox(app.db, await sampleAccount(app.db, app.tenantId))
    const parent = await sampleMailbox(app.db, account, { name: 'Projekte' })
    const child = await sampleMailbox(app.db, account, {
      name: 'Überblick',
      path: 'Projekte/Überblick',
      parent_id: parent.id,
    })
    await sampleMailbox(app.db, account, { name: 'Projekte!' })
    const inbox = await sampleMailbox(app.db, account, {
      name: 'INBOX',
      role: 'inbox',
      total_count: 7,
      unread_count: 0,
    })

    const { status, body } = await app.get<{ items: Mailbox[] }>(`/v1/accounts/${account.id}/mailboxes`)

    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['items'])
    expect(body.items.map(({ path }) => path)).toEqual([
      'INBOX',
      'Projekte',
      'Projekte!',
      'Projekte/Überblick',
    ])
    expect(body.items).toContainEqual({
      id: inbox.id,
      name: 'INBOX',
      path: 'INBOX',
      parentId: null,
      role: 'inbox',
      kind: 'folder',
      totalCount: 7,
      unreadCount: 0,
    })
    expect(body.items).toContainEqual({
      id: child.id,
      name: 'Überblick',
      path: 'Projekte/Überblick',
      parentId: parent.id,
      role: 'custom',
      kind: 'folder',
      totalCount: null,
      unreadCount: null,
    })
  })

  test('is an empty list before the first sync, and takes no parameter', async () => {
    const app = await newTenant()
    const account = await sampleAccount(app.db, app.tenantId)
    const path = `/v1/accounts/${account.id}/mailboxes`
    expect(await app.get(path)).toMatchObject({ status: 200, body: { items: [] } })
    expect(await app.get(`${path}?limit=1`)).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
  })
})
