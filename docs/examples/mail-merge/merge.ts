import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})
const accountId = process.env.ACCOUNT ?? ''

// Max has asked by phone to be left out.
await waxwing.suppressions.addEntries({
  listId: 'newsletter',
  addresses: ['max@example.org'],
  reason: 'Asked by phone',
})

const { items } = await waxwing.mailMerges.create({
  accountId,
  listId: 'newsletter',
  render: {
    subject: 'News for {{params.name}}',
    html:
      '<p>Dear {{params.name}}, there is news.</p>' +
      '<p><a href="{{rcpt.unsubscribeUrl}}">Unsubscribe</a></p>',
  },
  entries: [
    { to: { address: 'ben@gmail.test' }, params: { name: 'Ben' } },
    { to: { address: 'max@example.org' }, params: { name: 'Max' } },
  ],
})
for (const { address, error } of items) console.log(`${address}: ${error?.reason ?? 'queued'}`)
for (const { outboxId } of items) {
  if (outboxId === null) continue
  const entry = await waxwing.outbox.get({ accountId, outboxId, waitSeconds: 30 })
  console.log(`${entry.subject}: ${entry.status}`)
}
