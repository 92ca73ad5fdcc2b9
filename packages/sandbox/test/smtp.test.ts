import { createTransport } from 'nodemailer'
import { expect, test } from 'vitest'
import { useSandbox } from './use-sandbox.ts'

const used = useSandbox()
const { ask, origin } = used

const READ = 'https://www.googleapis.com/auth/gmail.readonly'

async function searchAs(user: string, query: string): Promise<string[]> {
  const { data } = await ask('POST', '/grants', { user, clientId: 'sandbox', scopes: [READ] })
  const url = `${origin('gmail.googleapis.com')}/gmail/v1/users/me/messages?q=${encodeURIComponent(query)}`
  const response = await fetch(url, { headers: { authorization: `Bearer ${data.accessToken}` } })
  const { messages = [] } = (await response.json()) as { messages?: Array<{ id: string }> }
  return messages.map(({ id }) => id)
}

const send = (to: string, auth?: { user: string; pass: string }) =>
  createTransport({ ...used.sandbox.smtp, secure: false, ignoreTLS: true, ...(auth && { auth }) }).sendMail({
    from: 'zoe@example.com',
    to,
    subject: 'Parcel 4711',
    text: 'It has arrived.',
  })

test('delivers mail from outside to each user that it names', async () => {
  await send('ada@gmail.test, Cleo@corp.test')
  expect(await searchAs('ada@gmail.test', 'subject:"Parcel 4711"')).toHaveLength(1)
  expect(await searchAs('cleo@corp.test', 'subject:"Parcel 4711"')).toHaveLength(1)
  expect(await searchAs('ben@gmail.test', 'subject:"Parcel 4711"')).toHaveLength(0)
})

test('refuses mail for anybody else, and every login', async () => {
  await expect(send('somebody@example.com')).rejects.toThrow('550 5.1.1')
  await expect(send('ada@gmail.test', { user: 'ada@gmail.test', pass: 'x' })).rejects.toThrow('535')
})
