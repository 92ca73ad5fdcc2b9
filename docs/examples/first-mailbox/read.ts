import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})
const accountId = process.env.ACCOUNT ?? ''

// The three newest messages from Dora.
const { items: messages } = await waxwing.messages.list({ accountId, from: 'dora', limit: 3 })
for (const message of messages)
  console.log(`${message.receivedAt.slice(0, 10)} ${message.from?.address}: ${message.subject}`)
