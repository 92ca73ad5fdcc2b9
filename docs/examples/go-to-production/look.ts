import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})

// For a monitor: whether requests are served, and what waits for a person.
const { status } = await fetch(`${process.env.WAXWING_URL}/health/ready`)
console.log(`ready: ${status}`)
const { current } = await waxwing.usage.get()
console.log(`sends today: ${current.sendsToday}`)
const { items: accounts } = await waxwing.accounts.list({ status: 'reauth_required' })
console.log(`accounts that need their user: ${accounts.length}`)
const integrity = await waxwing.integrity.get({ accountId: process.env.ACCOUNT ?? '' })
console.log(`messages that the index lacks: ${integrity.missing}`)
const { items: endpoints } = await waxwing.webhooks.list()
console.log(`endpoints that fail: ${endpoints.filter(({ isEnabled }) => !isEnabled).length}`)
