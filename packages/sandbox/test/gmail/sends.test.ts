import { expect, test } from 'vitest'
import { letter } from '../letter.ts'
import { gmailScope, MAIL, rawOf, useGmail } from './use-gmail.ts'

const gmail = useGmail()

async function found(user: string, q: string) {
  const { users } = await gmail.client(user)
  const page = await gmail.checked('messages', users.messages.list({ userId: 'me', q }, gmail.options))
  return Promise.all(
    (page.messages ?? []).map(async ({ id }) => {
      const message = await gmail.checked(
        'message',
        users.messages.get({ userId: 'me', id: id as string }, gmail.options),
      )
      const header = (name: string) => message.payload?.headers?.find(item => item.name === name)?.value
      return { message, header }
    }),
  )
}

async function send(user: string, headers: Record<string, string>, threadId?: string) {
  const { users } = await gmail.client(user)
  return gmail.checked(
    'message',
    users.messages.send(
      { userId: 'me', requestBody: { raw: rawOf(letter(headers)), threadId } },
      gmail.options,
    ),
  )
}

test('keeps a copy, delivers to users without Bcc, and bounces for unknown ones', async () => {
  const to = 'ben@gmail.test, nobody@gmail.test, far@away.test'
  const headers = {
    From: 'ada@gmail.test',
    To: to,
    Bcc: 'cleo@corp.test',
    Subject: 'Zebra',
    'X-Mark': 'kept',
  }
  const sent = await send('ada@gmail.test', headers)
  expect(sent.labelIds).toEqual(['SENT'])
  const [copy] = await found('ada@gmail.test', 'subject:zebra in:sent')
  expect(copy?.message.id).toBe(sent.id)
  expect(copy?.header('Bcc')).toBe('cleo@corp.test')
  expect(copy?.header('X-Mark')).toBe('kept')
  for (const user of ['ben@gmail.test', 'cleo@corp.test']) {
    const [got] = await found(user, 'subject:zebra')
    expect(got?.message.labelIds).toEqual(expect.arrayContaining(['INBOX', 'UNREAD']))
    expect(got?.header('Bcc')).toBeUndefined()
    expect(got?.header('Delivered-To')).toBe(user)
    expect(got?.header('Message-ID')).toBe(copy?.header('Message-ID'))
  }
  const bounces = await found('ada@gmail.test', 'from:mailer-daemon newer_than:1d')
  expect(bounces.map(({ header }) => header('X-Failed-Recipients'))).toEqual(['nobody@gmail.test'])
  expect(bounces[0]?.message.payload?.mimeType).toBe('multipart/report')
})

test('keeps one copy of what a user sends to themselves', async () => {
  const sent = await send('ada@gmail.test', { To: 'Ada <ada+tag@gmail.test>', Subject: 'Zebra' })
  const copies = await found('ada@gmail.test', 'subject:zebra')
  expect(copies.map(({ message }) => message.id)).toEqual([sent.id])
  expect(copies[0]?.message.labelIds).toEqual(['SENT', 'INBOX', 'UNREAD'])
})

test('keeps a Message-ID, or gives another one by a switch', async () => {
  const headers = { To: 'ben@gmail.test', 'Message-ID': '<mine@example.test>', Subject: 'Zebra' }
  await send('ada@gmail.test', headers)
  expect(await found('ada@gmail.test', 'rfc822msgid:mine@example.test')).toHaveLength(1)
  gmail.google.gmail.configure({ overwriteMessageIds: true })
  await send('ada@gmail.test', { ...headers, 'Message-ID': '<second@example.test>' })
  expect(await found('ada@gmail.test', 'rfc822msgid:second@example.test')).toHaveLength(0)
  expect(await found('ada@gmail.test', 'subject:zebra')).toHaveLength(2)
})

test.each([
  ['follows', 'Re: Zebra', '<first@example.test>', true],
  ['begins another for another subject in', 'Zebras', '<first@example.test>', false],
  ['begins another for a message that answers none of', 'Re: Zebra', '', false],
])('%s a thread', async (_, subject, references, joins) => {
  const first = await send('ada@gmail.test', {
    To: 'ben@gmail.test',
    'Message-ID': '<first@example.test>',
    Subject: 'Zebra',
  })
  const headers = {
    To: 'ben@gmail.test',
    Subject: subject,
    ...(references && { 'In-Reply-To': references, References: references }),
  }
  const second = await send('ada@gmail.test', headers, first.threadId as string)
  expect(second.threadId === first.threadId).toBe(joins)
})

test('joins the thread of a message that an answer names, also where it arrives', async () => {
  await send('ada@gmail.test', {
    To: 'ben@gmail.test',
    'Message-ID': '<first@example.test>',
    Subject: 'Zebra',
  })
  await send('ben@gmail.test', {
    To: 'ada@gmail.test',
    'In-Reply-To': '<first@example.test>',
    Subject: 'RE: Zebra',
  })
  for (const user of ['ada@gmail.test', 'ben@gmail.test']) {
    const both = await found(user, 'subject:zebra')
    expect(new Set(both.map(({ message }) => message.threadId)).size).toBe(1)
    expect(both).toHaveLength(2)
  }
})

test('sends only as an address that the user has', async () => {
  const token = await gmail.token('cleo@corp.test', [MAIL, gmailScope('settings.sharing')])
  await gmail.ask(token, 'POST', 'settings/sendAs', { sendAsEmail: 'sales@corp.test', displayName: 'Sales' })
  await gmail.ask(token, 'POST', 'settings/sendAs', { sendAsEmail: 'me@elsewhere.test', displayName: 'Me' })
  const from = async (address: string, subject: string) => {
    await send('cleo@corp.test', { From: `X <${address}>`, To: 'ben@gmail.test', Subject: subject })
    return (await found('ben@gmail.test', `subject:${subject}`))[0]?.header('From')
  }
  expect(await from('sales@corp.test', 'first')).toBe('X <sales@corp.test>')
  expect(await from('me@elsewhere.test', 'second')).toBe('"Cleo Okafor" <cleo@corp.test>')
  const { users } = await gmail.client('cleo@corp.test')
  const { sendAs } = await gmail.checked(
    'sendAsList',
    users.settings.sendAs.list({ userId: 'me' }, gmail.options),
  )
  expect(sendAs?.map(alias => [alias.sendAsEmail, alias.verificationStatus])).toEqual([
    ['cleo@corp.test', undefined],
    ['sales@corp.test', 'accepted'],
    ['me@elsewhere.test', 'pending'],
  ])
})

test.each([
  [{ Subject: 'x' }, 400, 'Recipient address required'],
  [{ To: 'undisclosed', Subject: 'x' }, 400, 'Recipient address required'],
])('refuses a message with the headers %j', async (headers, status, message) => {
  const token = await gmail.token('ada@gmail.test')
  const before = (await gmail.ask(token, 'GET', 'profile')).data
  const answer = await gmail.ask(token, 'POST', 'messages/send', { raw: rawOf(letter(headers)) })
  expect([answer.status, answer.data.error.message]).toEqual([status, message])
  expect((await gmail.ask(token, 'GET', 'profile')).data).toEqual(before)
})

test('gives a draft another message at each change, and ends it when it is sent', async () => {
  const { users } = await gmail.client('ada@gmail.test')
  const message = (subject: string) => ({
    message: { raw: rawOf(letter({ To: 'ben@gmail.test', Subject: subject })) },
  })
  const made = await gmail.checked(
    'draft',
    users.drafts.create({ userId: 'me', requestBody: message('Zebra') }, gmail.options),
  )
  const id = made.id as string
  const changed = await gmail.checked(
    'draft',
    users.drafts.update({ userId: 'me', id, requestBody: message('Re: Zebra') }, gmail.options),
  )
  const other = await gmail.checked(
    'draft',
    users.drafts.update({ userId: 'me', id, requestBody: message('Okapi') }, gmail.options),
  )
  expect([changed.id, other.id]).toEqual([id, id])
  expect(new Set([made, changed, other].map(draft => draft.message?.id)).size).toBe(3)
  expect(changed.message?.threadId).toBe(made.message?.threadId)
  expect(other.message?.threadId).not.toBe(made.message?.threadId)
  expect(
    (await users.messages.get({ userId: 'me', id: made.message?.id as string }, gmail.options)).status,
  ).toBe(404)
  const listed = await gmail.checked('drafts', users.drafts.list({ userId: 'me' }, gmail.options))
  expect(listed.drafts?.find(draft => draft.id === id)?.message?.id).toBe(other.message?.id)
  const sent = await gmail.checked(
    'message',
    users.drafts.send({ userId: 'me', requestBody: { id } }, gmail.options),
  )
  expect(sent.labelIds).toEqual(['SENT'])
  expect(sent.id).not.toBe(other.message?.id)
  expect((await users.drafts.get({ userId: 'me', id }, gmail.options)).status).toBe(404)
  expect(await found('ben@gmail.test', 'subject:okapi')).toHaveLength(1)
})

test('keeps a draft that cannot be sent', async () => {
  const { users } = await gmail.client('ada@gmail.test')
  const requestBody = { message: { raw: rawOf(letter({ Subject: 'No one' })) } }
  const { id } = await gmail.checked(
    'draft',
    users.drafts.create({ userId: 'me', requestBody }, gmail.options),
  )
  expect((await users.drafts.send({ userId: 'me', requestBody: { id } }, gmail.options)).status).toBe(400)
  await gmail.checked(
    'draft',
    users.drafts.get({ userId: 'me', id: id as string, format: 'minimal' }, gmail.options),
  )
  expect((await users.drafts.delete({ userId: 'me', id: id as string }, gmail.options)).status).toBe(204)
})
