import type { MergeItem } from '@waxwing/contract/sending/mail-merges.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { expect, test } from 'vitest'
import { waitUntil } from '../wait-until.ts'
import { connectGraph, openGraphApp } from './open-graph-app.ts'

/** As much as the parameters of an entry may have. Written into the HTML 8 times, it is over 2 MiB as MIME. */
const LONG = '€'.repeat(80_000)
const HTML = `<p>Hello {{params.name}}${'{{params.text}}'.repeat(8)}</p>`

test('an entry whose text is longer than Exchange takes stops no other', async () => {
  await using opened = await openGraphApp()
  const { app } = opened
  const eva = await connectGraph(opened)
  const finn = await connectGraph(opened)
  const path = `/v1/accounts/${eva.accountId}`
  const merge = (entries: object[]) =>
    app.post<{ items: MergeItem[] }>(`${path}/mail-merges`, {
      render: { subject: 'News', html: HTML, text: 'See the HTML.' },
      entries,
    })
  const { status, body } = await merge([
    { to: { address: finn.email }, params: { name: 'Finn', text: 'short' } },
    { to: { address: 'long@example.com' }, params: { name: 'Long', text: LONG } },
    { to: { address: 'last@example.com' }, params: { name: 'Last', text: 'short' } },
  ])
  expect(status).toBe(200)
  expect(body.items.map(({ error }) => error?.reason ?? null)).toEqual([null, 'attachments_too_large', null])
  expect(body.items.map(({ outboxId }) => outboxId !== null)).toEqual([true, false, true])
  await waitUntil('the others to be sent', async () => {
    const { items } = (await app.get<{ items: OutboxEntry[] }>(`${path}/outbox`)).body
    return items.length === 2 && items.every(entry => entry.status === 'sent')
  })
  await waitUntil('the arrival', async () => (await finn.messages()).length === 1)
  // A text that all entries share refuses the whole.
  const shared = await app.post(`${path}/mail-merges`, {
    subject: 'News',
    html: `<p>${'€'.repeat(900_000)}</p>`,
    entries: [{ to: { address: finn.email } }],
  })
  expect(shared).toMatchObject({ status: 400, body: { code: 'attachments_too_large' } })
})
