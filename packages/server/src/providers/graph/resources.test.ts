import { expect, test } from 'vitest'
import { messageSchema, messagesSchema, statesSchema } from './resources.ts'

const recipients = (count: number) =>
  Array.from({ length: count }, (_, number) => ({
    emailAddress: { name: null, address: `${number}@x.test` },
  }))

test('long arrays of a message are cut', () => {
  const { value } = messagesSchema.parse({
    value: [
      {
        id: 'a',
        toRecipients: recipients(20_100),
        internetMessageHeaders: Array.from({ length: 5_100 }, () => ({ name: 'X', value: 'y' })),
        singleValueExtendedProperties: Array.from({ length: 150 }, () => ({ id: 'x', value: 'y' })),
        categories: Array.from({ length: 1_100 }, () => 'x'.repeat(1_100)),
      },
    ],
  })
  const [message] = value
  expect(message?.toRecipients).toHaveLength(20_000)
  expect(message?.internetMessageHeaders).toHaveLength(5_000)
  expect(message?.singleValueExtendedProperties).toHaveLength(100)
  expect(message?.categories).toEqual(Array.from({ length: 1_000 }, () => 'x'.repeat(1_000)))
})

test.each([
  ['isRead', 'yes'],
  ['isDraft', 1],
  ['flag', 'flagged'],
  ['categories', { a: 'b' }],
  ['receivedDateTime', 5],
  ['parentFolderId', ''],
])('a %s of another kind is left out of a page of states, and fails a message', (name, value) => {
  const states = statesSchema.parse({
    value: [
      { id: 'a', [name]: value },
      { id: 'b', isRead: true },
    ],
  })
  expect(states.value).toMatchObject([
    { id: 'a', [name]: null },
    { id: 'b', isRead: true },
  ])
  expect(messageSchema.safeParse({ id: 'a', [name]: value }).success).toBe(false)
})
