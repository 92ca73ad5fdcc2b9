import fc from 'fast-check'
import { expect, test } from 'vitest'
import { letter } from '../letter.ts'
import { rawOf, useGmail } from './use-gmail.ts'

const gmail = useGmail()
const LABELS = ['STARRED', 'UNREAD', 'INBOX', 'IMPORTANT'] as const

interface Mail {
  labels: Map<string, Set<string>>
  historyId: string
}

async function listed(token: string): Promise<Mail> {
  const { data: profile } = await gmail.ask(token, 'GET', 'profile')
  const labels = new Map<string, Set<string>>()
  for (let next = ''; ;) {
    const { data } = await gmail.ask(token, 'GET', `messages?includeSpamTrash=true&maxResults=500${next}`)
    for (const { id } of data.messages ?? []) {
      const { data: message } = await gmail.ask(token, 'GET', `messages/${id}?format=minimal`)
      labels.set(id, new Set(message.labelIds ?? []))
    }
    if (!data.nextPageToken) return { labels, historyId: profile.historyId }
    next = `&pageToken=${data.nextPageToken}`
  }
}

/** Follows the history from a listing, page by page, and returns what the mailbox is then. */
async function followed(token: string, { labels, historyId }: Mail, query: string): Promise<Mail> {
  const mail: Mail = { labels: new Map([...labels].map(([id, set]) => [id, new Set(set)])), historyId }
  for (let next = ''; ;) {
    const { status, data } = await gmail.ask(
      token,
      'GET',
      `history?startHistoryId=${historyId}${query}${next}`,
    )
    expect(status).toBe(200)
    for (const record of data.history ?? []) {
      for (const { message } of record.messagesAdded ?? [])
        mail.labels.set(message.id, new Set(message.labelIds ?? []))
      for (const { message } of record.messagesDeleted ?? []) mail.labels.delete(message.id)
      for (const { message } of [...(record.labelsAdded ?? []), ...(record.labelsRemoved ?? [])])
        if (mail.labels.has(message.id)) mail.labels.set(message.id, new Set(message.labelIds ?? []))
    }
    mail.historyId = data.historyId
    if (!data.nextPageToken) return mail
    next = `&pageToken=${data.nextPageToken}`
  }
}

const change = fc.oneof(
  fc.record({
    kind: fc.constant('modify' as const),
    at: fc.nat(),
    add: fc.subarray([...LABELS]),
    remove: fc.subarray([...LABELS]),
  }),
  fc.record({ kind: fc.constantFrom('trash' as const, 'untrash' as const, 'delete' as const), at: fc.nat() }),
  fc.record({
    kind: fc.constantFrom('insert' as const, 'deliver' as const, 'draft' as const, 'send' as const),
  }),
)

async function apply(
  token: string,
  ids: string[],
  step: typeof change extends fc.Arbitrary<infer T> ? T : never,
) {
  const raw = rawOf(letter({ To: 'ada@gmail.test', Subject: 'x' }))
  const id = 'at' in step ? ids[step.at % Math.max(ids.length, 1)] : undefined
  if (step.kind === 'modify') {
    const remove = step.remove.filter(label => !step.add.includes(label))
    await gmail.ask(token, 'POST', `messages/${id}/modify`, { addLabelIds: step.add, removeLabelIds: remove })
  } else if (step.kind === 'delete') await gmail.ask(token, 'DELETE', `messages/${id}`)
  else if (step.kind === 'trash' || step.kind === 'untrash')
    await gmail.ask(token, 'POST', `messages/${id}/${step.kind}`)
  else if (step.kind === 'draft') await gmail.ask(token, 'POST', 'drafts', { message: { raw } })
  else if (step.kind === 'send') await gmail.ask(token, 'POST', 'messages/send', { raw })
  else if (step.kind === 'insert') await gmail.ask(token, 'POST', 'messages', { raw, labelIds: ['UNREAD'] })
  else gmail.deliver('small@gmail.test', Buffer.from(raw, 'base64url'))
}

test.each([
  ['', {}],
  ['&maxResults=2', { emptyHistoryPages: true, repeatedHistory: true }],
])('leads from any listing to the mailbox as it is, with%s %j', async (query, settings) => {
  gmail.sandbox.world.addUser({ email: 'small@gmail.test', messages: 12 })
  const token = await gmail.token('small@gmail.test')
  gmail.google.gmail.configure(settings)
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 12 }), async steps => {
      const before = await listed(token)
      for (const step of steps) await apply(token, [...before.labels.keys()], step)
      const after = await listed(token)
      const { labels, historyId } = await followed(token, before, query)
      expect([...labels].toSorted()).toEqual([...after.labels].toSorted())
      expect(historyId).toBe(after.historyId)
    }),
    { numRuns: 15, seed: 7 },
  )
})

test('keeps to one kind of change, or one label', async () => {
  const token = await gmail.token('ada@gmail.test')
  const { historyId } = (await gmail.ask(token, 'GET', 'profile')).data
  const { data } = await gmail.ask(token, 'GET', 'messages?maxResults=2&labelIds=INBOX')
  const [first, second] = data.messages.map(({ id }: { id: string }) => id)
  await gmail.ask(token, 'POST', `messages/${first}/modify`, { removeLabelIds: ['INBOX'] })
  await gmail.ask(token, 'DELETE', `messages/${second}`)
  const kinds = async (query: string) => {
    const answer = await gmail.ask(token, 'GET', `history?startHistoryId=${historyId}&${query}`)
    return (answer.data.history ?? []).flatMap((record: object) => Object.keys(record).slice(2))
  }
  expect(await kinds('historyTypes=labelRemoved')).toEqual(['labelsRemoved'])
  expect(await kinds('historyTypes=messageAdded&historyTypes=messageDeleted')).toEqual(['messagesDeleted'])
  expect(await kinds('labelId=SPAM')).toEqual([])
  expect(await kinds('labelId=INBOX')).toEqual(['labelsRemoved', 'messagesDeleted'])
  expect(
    (await gmail.ask(token, 'GET', `history?startHistoryId=${historyId}&historyTypes=labelsRemoved`)).status,
  ).toBe(400)
})

test('expires on demand and after a week, for cursors of before only', async () => {
  const token = await gmail.token('ada@gmail.test')
  const cursor = async () => (await gmail.ask(token, 'GET', 'profile')).data.historyId as string
  const status = async (from: string) =>
    (await gmail.ask(token, 'GET', `history?startHistoryId=${from}`)).status
  const first = await cursor()
  expect(await status(first)).toBe(200)
  gmail.google.gmail.expireHistory(null)
  expect(await status(first)).toBe(404)
  const second = await cursor()
  expect(await status(second)).toBe(200)
  expect(BigInt(second)).toBeGreaterThan(BigInt(Number.MAX_SAFE_INTEGER))
  await gmail.ask(token, 'POST', 'messages/send', {
    raw: rawOf(letter({ To: 'ben@gmail.test', Subject: 'x' })),
  })
  gmail.sandbox.world.clock.turn(6 * 24 * 3600 * 1000)
  const stillThere = await gmail.token('ada@gmail.test')
  expect((await gmail.ask(stillThere, 'GET', `history?startHistoryId=${second}`)).data.history).toHaveLength(
    1,
  )
  gmail.sandbox.world.clock.turn(2 * 24 * 3600 * 1000)
  const later = await gmail.token('ada@gmail.test')
  expect((await gmail.ask(later, 'GET', `history?startHistoryId=${second}`)).status).toBe(404)
  expect(
    (await gmail.ask(later, 'GET', `history?startHistoryId=${BigInt(second) + 1_000_000n}`)).status,
  ).toBe(404)
})

test('expires for one user, and leaves that of others', async () => {
  const { world } = gmail.sandbox
  const [ada, ben] = ['ada@gmail.test', 'ben@gmail.test']
  const tokens = await Promise.all([ada, ben].map(async user => gmail.token(user)))
  const cursors = await Promise.all(
    tokens.map(async token => (await gmail.ask(token, 'GET', 'profile')).data.historyId as string),
  )
  gmail.google.gmail.expireHistory(world.users.find(ada))
  const statuses = await Promise.all(
    tokens.map(async (token, at) => {
      const { status } = await gmail.ask(token, 'GET', `history?startHistoryId=${cursors[at]}`)
      return status
    }),
  )
  expect(statuses).toEqual([404, 200])
})

test('comes in pages of the size that is asked for, with empty and repeated ones by switches', async () => {
  const token = await gmail.token('ada@gmail.test')
  const { historyId } = (await gmail.ask(token, 'GET', 'profile')).data
  const { data } = await gmail.ask(token, 'GET', 'messages?maxResults=3&labelIds=INBOX')
  for (const { id } of data.messages)
    await gmail.ask(token, 'POST', `messages/${id}/modify`, { removeLabelIds: ['INBOX'] })
  const pages = async () => {
    const sizes: number[] = []
    for (let next = ''; ;) {
      const path = `history?startHistoryId=${historyId}&maxResults=2${next}`
      const page = (await gmail.ask(token, 'GET', path)).data
      sizes.push(page.history?.length ?? 0)
      if (!page.nextPageToken) return sizes
      next = `&pageToken=${page.nextPageToken}`
    }
  }
  expect(await pages()).toEqual([2, 1])
  gmail.google.gmail.configure({ emptyHistoryPages: true })
  expect(await pages()).toEqual([0, 2, 0, 1])
  gmail.google.gmail.configure({ emptyHistoryPages: false, repeatedHistory: true })
  expect(await pages()).toEqual([4, 2])
})
