import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})
const accountId = process.env.ACCOUNT ?? ''

// Ada writes to Ben, and waits until the message is sent.
const { id } = await waxwing.outbox.create({
  accountId,
  to: [{ address: 'ben@gmail.test' }],
  subject: 'First message',
  text: 'Hello, Ben.',
})
const entry = await waxwing.outbox.get({ accountId, outboxId: id, waitSeconds: 30 })
console.log(`${entry.subject}: ${entry.status}`)
