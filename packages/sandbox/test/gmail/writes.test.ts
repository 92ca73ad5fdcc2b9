import { expect, test } from 'vitest'
import { letter } from '../letter.ts'
import { rawOf, useGmail } from './use-gmail.ts'

const gmail = useGmail()

async function open() {
  const { users } = await gmail.client('ada@gmail.test')
  const { historyId } = await gmail.checked('profile', users.getProfile({ userId: 'me' }, gmail.options))
  const page = await gmail.checked(
    'messages',
    users.messages.list({ userId: 'me', labelIds: ['INBOX'] }, gmail.options),
  )
  const ids = (page.messages ?? []).map(message => message.id as string)
  const history = async () =>
    (
      await gmail.checked(
        'history',
        users.history.list({ userId: 'me', startHistoryId: historyId as string }, gmail.options),
      )
    ).history ?? []
  return { users, ids, id: ids[0] as string, history }
}

test('writes one record for labels added and one for labels removed', async () => {
  const { users, id, history } = await open()
  const change = { addLabelIds: ['STARRED', 'IMPORTANT'], removeLabelIds: ['INBOX'] }
  await users.messages.modify(
    { userId: 'me', id, requestBody: { removeLabelIds: ['STARRED', 'IMPORTANT'] } },
    gmail.options,
  )
  const before = (await history()).length
  const changed = await gmail.checked(
    'message',
    users.messages.modify({ userId: 'me', id, requestBody: change }, gmail.options),
  )
  expect(changed.labelIds).toEqual(expect.arrayContaining(['STARRED', 'IMPORTANT']))
  const records = (await history()).slice(before)
  expect(records.flatMap(record => record.labelsRemoved ?? []).map(({ labelIds }) => labelIds)).toEqual([
    ['INBOX'],
  ])
  expect(records.flatMap(record => record.labelsAdded ?? []).map(({ labelIds }) => labelIds)).toEqual([
    ['STARRED', 'IMPORTANT'],
  ])
  await users.messages.modify({ userId: 'me', id, requestBody: change }, gmail.options)
  expect(await history()).toHaveLength(before + records.length)
})

test.each([
  [{}, 'No label add or removes specified'],
  [{ addLabelIds: ['SENT'] }, 'Invalid label: SENT'],
  [{ removeLabelIds: ['DRAFT'] }, 'Invalid label: DRAFT'],
  [{ addLabelIds: ['Label_none'] }, 'Invalid label: Label_none'],
  [{ addLabelIds: ['STARRED'], removeLabelIds: ['STARRED'] }, 'Cannot both add and remove the same label'],
  [{ addLabelIds: 'STARRED' }, "Invalid value at 'addLabelIds', expected a list of strings"],
  [{ add: ['STARRED'] }, 'Invalid JSON payload received. Unknown name "add": Cannot find field.'],
])('refuses the change %j', async (body, message) => {
  const token = await gmail.token('ada@gmail.test')
  const { data } = await gmail.ask(token, 'GET', 'messages?maxResults=1')
  const answer = await gmail.ask(token, 'POST', `messages/${data.messages[0].id}/modify`, body)
  expect(answer.status).toBe(400)
  expect(answer.data.error.message).toBe(message)
})

test('trashes a message, and puts it back where it was', async () => {
  const { users, id } = await open()
  const trashed = await gmail.checked('message', users.messages.trash({ userId: 'me', id }, gmail.options))
  expect(trashed.labelIds).toContain('TRASH')
  expect(trashed.labelIds).not.toContain('INBOX')
  const back = await gmail.checked('message', users.messages.untrash({ userId: 'me', id }, gmail.options))
  expect(back.labelIds ?? []).not.toContain('TRASH')
  expect(back.labelIds).toContain('INBOX')
})

test('deletes for good, one by one and many at once, and passes over what is gone', async () => {
  const { users, ids, history } = await open()
  const [first, second, third] = ids as [string, string, string]
  expect((await users.messages.delete({ userId: 'me', id: first }, gmail.options)).status).toBe(204)
  expect((await users.messages.delete({ userId: 'me', id: first }, gmail.options)).status).toBe(404)
  const all = { userId: 'me', requestBody: { ids: [first, second, third] } }
  expect((await users.messages.batchDelete(all, gmail.options)).status).toBe(204)
  expect((await users.messages.get({ userId: 'me', id: second }, gmail.options)).status).toBe(404)
  const deleted = (await history())
    .flatMap(record => record.messagesDeleted ?? [])
    .map(({ message }) => message?.id)
  expect(deleted).toEqual([first, second, third])
})

test('changes a thousand messages in one call, and no more', async () => {
  const { users, ids } = await open()
  const change = (many: string[]) =>
    users.messages.batchModify(
      { userId: 'me', requestBody: { ids: many, removeLabelIds: ['INBOX'] } },
      gmail.options,
    )
  expect((await change(Array.from({ length: 1001 }, () => ids[0] as string))).status).toBe(400)
  expect((await change([...ids, 'gone'])).status).toBe(204)
  const inbox = await gmail.checked(
    'messages',
    users.messages.list({ userId: 'me', labelIds: ['INBOX'] }, gmail.options),
  )
  expect(inbox.messages ?? []).toEqual([])
})

test('inserts with the time of arrival and imports with the time in the header', async () => {
  const { users } = await open()
  const raw = rawOf(
    letter({ From: 'x@example.test', Date: 'Fri, 2 Jan 2015 03:04:05 +0000', Subject: 'Old' }),
  )
  const requestBody = { raw, labelIds: ['INBOX', 'UNREAD'] }
  const inserted = await gmail.checked(
    'message',
    users.messages.insert({ userId: 'me', requestBody }, gmail.options),
  )
  const imported = await gmail.checked(
    'message',
    users.messages.import({ userId: 'me', requestBody }, gmail.options),
  )
  const dateOf = async (id: string | null | undefined) =>
    Number(
      (await gmail.checked('message', users.messages.get({ userId: 'me', id: id as string }, gmail.options)))
        .internalDate,
    )
  expect(await dateOf(imported.id)).toBe(Date.UTC(2015, 0, 2, 3, 4, 5))
  expect(await dateOf(inserted.id)).toBeGreaterThan(Date.UTC(2026, 0, 1))
  expect(inserted.labelIds).toEqual(['INBOX', 'UNREAD'])
})

test('changes every message of a thread', async () => {
  const { users } = await open()
  const page = await gmail.checked('threads', users.threads.list({ userId: 'me' }, gmail.options))
  const threads = await Promise.all(
    (page.threads ?? [])
      .slice(0, 30)
      .map(async ({ id }) =>
        gmail.checked(
          'thread',
          users.threads.get({ userId: 'me', id: id as string, format: 'minimal' }, gmail.options),
        ),
      ),
  )
  const long = threads.find(thread => (thread.messages?.length ?? 0) > 1)
  const id = long?.id as string
  const changed = await gmail.checked(
    'thread',
    users.threads.modify({ userId: 'me', id, requestBody: { addLabelIds: ['STARRED'] } }, gmail.options),
  )
  expect(changed.messages?.every(message => message.labelIds?.includes('STARRED'))).toBe(true)
  const trashed = await gmail.checked('thread', users.threads.trash({ userId: 'me', id }, gmail.options))
  expect(trashed.messages?.every(message => message.labelIds?.includes('TRASH'))).toBe(true)
  expect((await users.threads.delete({ userId: 'me', id }, gmail.options)).status).toBe(204)
  expect((await users.threads.get({ userId: 'me', id }, gmail.options)).status).toBe(404)
})
