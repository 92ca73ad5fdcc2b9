import { setTimeout } from 'node:timers/promises'
import { isEvent, Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})

async function ask(path: string, body: string | object): Promise<unknown> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await fetch(process.env.SANDBOX_URL + path, { method: 'POST', body: text })
  if (!answer.ok) throw new Error(await answer.text())
  return answer.json()
}

// A mailbox of its own for each run, and a refresh token as if its user had consented.
const user = `test-${Date.now()}@gmail.test`
await ask('/users', { email: user, messages: 3 })
const { refreshToken } = (await ask('/grants', {
  user,
  clientId: 'sandbox',
  scopes: ['openid', 'email', 'profile', 'https://www.googleapis.com/auth/gmail.modify'],
})) as { refreshToken: string }
const { id: accountId } = await waxwing.accounts.connect({ provider: 'google', refreshToken })
console.log(`${user} is connected`)

while ((await waxwing.accounts.get({ accountId })).initializedAt === null) await setTimeout(500)
const { items } = await waxwing.messages.list({ accountId, limit: 200 })
console.log(`${items.length} messages are indexed`)

const { nextCursor: cursor } = await waxwing.changes.list({ start: 'now' })
await ask(`/users/${user}/messages`, 'From: Zoe <zoe@example.com>\r\nSubject: Hello\r\n\r\nHow are you?\r\n')
for await (const event of waxwing.changes.stream({ cursor, types: ['message.created'] })) {
  if (event.accountId !== accountId || !isEvent(event, 'message.created')) continue
  console.log(`The event reports: ${event.data.message.subject}`)
  break
}

await waxwing.accounts.delete({ accountId, purge: true })
console.log('The account is deleted')
