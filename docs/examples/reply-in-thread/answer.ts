import { isEvent, Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})
const accountId = process.env.ACCOUNT ?? ''

// Answers the next message from Zoe, in its thread.
const { nextCursor: cursor } = await waxwing.changes.list({ start: 'now' })
console.log('Waiting for a question')
for await (const event of waxwing.changes.stream({ cursor, types: ['message.created'] })) {
  if (!isEvent(event, 'message.created')) continue
  const { id, from, subject } = event.data.message
  if (from?.address !== 'zoe@example.com') continue
  console.log(`${from.address} asks: ${subject}`)

  const { id: outboxId } = await waxwing.outbox.create({
    accountId,
    inReplyTo: id,
    to: [from],
    text: 'With pleasure.',
  })
  const entry = await waxwing.outbox.get({ accountId, outboxId, waitSeconds: 30 })
  console.log(`${entry.subject} is ${entry.status}`)
  break
}
