import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})
const accountId = process.env.ACCOUNT ?? ''

// The best match of this word, in subject, names, addresses or text.
const { items, source } = await waxwing.search.messages({
  accountId,
  q: 'お知らせ -lunch',
  from: 'dora',
  limit: 1,
})
console.log(`${source} is the source`)
for (const message of items) console.log(`${message.receivedAt.slice(0, 10)} ${message.subject}`)
