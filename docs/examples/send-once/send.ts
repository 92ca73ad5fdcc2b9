import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})
const accountId = process.env.ACCOUNT ?? ''

// The key names what is to be done: the invoice of your own database. The same key sends once.
const invoice = process.env.INVOICE
if (!invoice) throw new Error('INVOICE is not set')
const idempotencyKey = `invoice-${invoice}`
const message = {
  accountId,
  to: [{ address: 'ben@gmail.test' }],
  subject: `Invoice ${invoice}`,
  text: 'Please find it attached.',
}

const first = await waxwing.outbox.create(message, { idempotencyKey }).withResponse()
console.log(`first: ${first.isReplayed ? 'repeated' : 'new'}`)
// If the answer is lost, nobody knows whether the message was sent. So the program asks again.
const second = await waxwing.outbox.create(message, { idempotencyKey }).withResponse()
console.log(`second: ${second.isReplayed ? 'repeated' : 'new'}`)
console.log(`the same message: ${first.body.id === second.body.id}`)
const entry = await waxwing.outbox.get({ accountId, outboxId: first.body.id, waitSeconds: 30 })
console.log(`${entry.subject}: ${entry.status}`)
