import { expect } from 'vitest'
import { waitUntil } from '../../wait-until.ts'
import type { SdkWorld } from './world.ts'

const letter = (nth: number) =>
  [
    `Subject: Letter ${nth}`,
    'From: Grace <grace@example.org>',
    `Message-ID: <${nth}@letters.example.com>`,
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'Figures below.',
    '--b',
    'Content-Type: text/csv',
    'Content-Disposition: attachment; filename=figures.csv',
    '',
    'a,b',
    '--b--',
    '',
  ].join('\r\n')

/** Reads and changes mailboxes, messages and threads. */
export async function walkMail(world: SdkWorld): Promise<void> {
  const { waxwing, check } = world
  const { accountId } = await world.account([1, 2].map(letter))
  const path = `/accounts/${accountId}` as const
  const mailboxId = await walkMailboxes(world, accountId)

  const list = () => waxwing.messages.list({ accountId, unread: true, hasAttachments: true, limit: 2 })
  const [first, second] = await waitUntil('threads', async () => {
    const { items } = await list()
    return items.length === 2 && items.every(({ threadId }) => threadId !== null) ? items : null
  })
  await check('messages.list', `GET ${path}/messages?unread=true&hasAttachments=true&limit=2`, list)
  const messageId = first?.id ?? ''
  const one = `${path}/messages/${messageId}` as const
  const message = await check('messages.get', `GET ${one}`, () =>
    waxwing.messages.get({ accountId, messageId }),
  )
  const attachmentId = message.attachments[0]?.id ?? ''
  const raw = await check('messages.raw', `GET ${one}/raw`, () =>
    waxwing.messages.raw({ accountId, messageId }),
  )
  expect(new TextDecoder().decode(await raw.bytes())).toContain('Figures below.')
  const file = await check('messages.attachment', `GET ${one}/attachments/${attachmentId}`, () =>
    waxwing.messages.attachment({ accountId, messageId, attachmentId }),
  )
  expect(new TextDecoder().decode(await file.bytes())).toContain('a,b')
  const question = 'q=Figures+below&source=provider&limit=5'
  const found = await check('search.messages', `GET ${path}/search/messages?${question}`, () =>
    waxwing.search.messages({ accountId, q: 'Figures below', source: 'provider', limit: 5 }),
  )
  expect(found.items).toHaveLength(2)
  const change = { isRead: true, mailboxId }
  await check(
    'messages.update',
    `PATCH ${one}`,
    () => waxwing.messages.update({ accountId, messageId, ...change }),
    change,
  )
  await check('messages.delete', `DELETE ${one}?permanent=true`, () =>
    waxwing.messages.delete({ accountId, messageId, permanent: true }),
  )
  await walkThreads(world, accountId, second?.threadId ?? '')
}

/** @returns the id of a mailbox that stays */
async function walkMailboxes({ waxwing, check }: SdkWorld, accountId: string): Promise<string> {
  const path = `/accounts/${accountId}/mailboxes` as const
  const body = { name: 'Kept & held' }
  const { id: mailboxId } = await check(
    'mailboxes.create',
    `POST ${path}`,
    () => waxwing.mailboxes.create({ accountId, ...body }),
    body,
  )
  const change = { name: 'Held' }
  await check(
    'mailboxes.update',
    `PATCH ${path}/${mailboxId}`,
    () => waxwing.mailboxes.update({ accountId, mailboxId, ...change }),
    change,
  )
  const { items } = await check('mailboxes.list', `GET ${path}`, () => waxwing.mailboxes.list({ accountId }))
  expect(items.map(({ name }) => name)).toContain('Held')
  const { id: other } = await waxwing.mailboxes.create({ accountId, name: 'Gone' })
  await check('mailboxes.delete', `DELETE ${path}/${other}`, () =>
    waxwing.mailboxes.delete({ accountId, mailboxId: other }),
  )
  return mailboxId
}

async function walkThreads({ waxwing, check }: SdkWorld, accountId: string, threadId: string): Promise<void> {
  const path = `/accounts/${accountId}/threads` as const
  await check('threads.list', `GET ${path}?limit=10`, () => waxwing.threads.list({ accountId, limit: 10 }))
  await check('threads.get', `GET ${path}/${threadId}`, () => waxwing.threads.get({ accountId, threadId }))
  const change = { isRead: true }
  await check(
    'threads.update',
    `PATCH ${path}/${threadId}`,
    () => waxwing.threads.update({ accountId, threadId, ...change }),
    change,
  )
  await check('threads.delete', `DELETE ${path}/${threadId}`, () =>
    waxwing.threads.delete({ accountId, threadId }),
  )
}
