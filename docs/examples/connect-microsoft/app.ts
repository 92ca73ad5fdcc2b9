import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})

const app = await waxwing.oauthApps.create({
  provider: 'microsoft',
  name: 'Mail',
  clientId: 'sandbox',
  clientSecret: 'sandbox-secret',
})
console.log(`Register ${app.redirectUri}`)
console.log(`export APP=${app.id}`)
