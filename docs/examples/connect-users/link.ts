import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})

// The addresses to which users may return. They are compared character by character.
await waxwing.settings.update({ redirectUris: ['http://127.0.0.1:3000/connected'] })

// One link for each user who connects a mailbox. `state` is compared with the session of your own user at the return.
const { id, url } = await waxwing.connectSessions.create({
  redirectUri: 'http://127.0.0.1:3000/connected',
  externalRef: `user-${Date.now()}`,
  state: 'session-of-nora',
  providers: ['google'],
})
console.log(`export SESSION=${id}`)
console.log(`export LINK=${url}`)
