import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})

// Events of new mail are posted to this machine. The secret is shown only now.
const { endpoint, secret } = await waxwing.webhooks.create({
  url: `http://127.0.0.1:${process.env.PORT}/waxwing`,
  filters: { eventTypes: ['message.created'], accountIds: [process.env.ACCOUNT ?? ''] },
})
console.log(`export ENDPOINT=${endpoint.id}`)
console.log(`export WEBHOOK_SECRET=${secret}`)
