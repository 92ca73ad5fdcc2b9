import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})

await waxwing.webhooks.delete({ endpointId: process.env.ENDPOINT ?? '' })
console.log('No more webhooks')
