import { expect, test } from 'vitest'
import { useGmail } from './use-gmail.ts'

const gmail = useGmail()

test('makes, renames and deletes a label, and takes it from its messages', async () => {
  const { users } = await gmail.client('ada@gmail.test')
  const made = await gmail.checked(
    'label',
    users.labels.create({ userId: 'me', requestBody: { name: 'Projects/Bridge' } }, gmail.options),
  )
  expect(made).toMatchObject({ name: 'Projects/Bridge', type: 'user', labelListVisibility: 'labelShow' })
  const id = made.id as string
  const { messages = [] } = await gmail.checked(
    'messages',
    users.messages.list({ userId: 'me', maxResults: 1 }, gmail.options),
  )
  const message = { userId: 'me', id: messages[0]?.id as string }
  await gmail.checked(
    'message',
    users.messages.modify({ ...message, requestBody: { addLabelIds: [id] } }, gmail.options),
  )
  const renamed = await gmail.checked(
    'label',
    users.labels.patch(
      { userId: 'me', id, requestBody: { name: 'Bridges', labelListVisibility: 'labelHide' } },
      gmail.options,
    ),
  )
  expect(renamed).toMatchObject({ id, name: 'Bridges', labelListVisibility: 'labelHide' })
  const counted = await gmail.checked('label', users.labels.get({ userId: 'me', id }, gmail.options))
  expect(counted.messagesTotal).toBe(1)
  expect((await users.labels.delete({ userId: 'me', id }, gmail.options)).status).toBe(204)
  const after = await gmail.checked(
    'message',
    users.messages.get({ ...message, format: 'minimal' }, gmail.options),
  )
  expect(after.labelIds ?? []).not.toContain(id)
  expect((await users.labels.get({ userId: 'me', id }, gmail.options)).status).toBe(404)
})

test('leaves the names of labels below one that is renamed', async () => {
  const token = await gmail.token('ada@gmail.test')
  const { data } = await gmail.ask(token, 'GET', 'labels')
  const named = (name: string) => data.labels.find((label: { name: string }) => label.name === name)
  await gmail.ask(token, 'PATCH', `labels/${named('Work').id}`, { name: 'Office' })
  expect((await gmail.ask(token, 'GET', `labels/${named('Work/Invoices').id}`)).data.name).toBe(
    'Work/Invoices',
  )
})

test.each([
  [{ name: 'INBOX' }, 400],
  [{ name: 'inbox' }, 400],
  [{ name: '' }, 400],
  [{ name: 'a//b' }, 400],
  [{ name: '/a' }, 400],
  [{ name: 'x'.repeat(226) }, 400],
  [{ name: 'travel' }, 409],
  [{}, 400],
  [{ name: 'New', colour: 'red' }, 400],
  [{ name: 'New', color: { textColor: '#123456', backgroundColor: '#000000' } }, 400],
  [{ name: 'New', labelListVisibility: 'labelMaybe' }, 400],
  [{ name: 'New', color: { textColor: '#ffffff', backgroundColor: '#000000' } }, 200],
])('answers a new label %j with %i', async (body, status) => {
  const token = await gmail.token('ada@gmail.test')
  expect((await gmail.ask(token, 'POST', 'labels', body)).status).toBe(status)
})

test('changes no label of its own', async () => {
  const token = await gmail.token('ada@gmail.test')
  expect((await gmail.ask(token, 'PATCH', 'labels/INBOX', { name: 'In' })).status).toBe(400)
  expect((await gmail.ask(token, 'DELETE', 'labels/STARRED')).status).toBe(400)
  expect((await gmail.ask(token, 'PUT', 'labels/Label_none', { name: 'x' })).status).toBe(404)
})
