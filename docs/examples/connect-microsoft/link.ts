import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})

await waxwing.settings.update({ redirectUris: ['http://127.0.0.1:3000/connected'] })
const { id, url } = await waxwing.connectSessions.create({
  redirectUri: 'http://127.0.0.1:3000/connected',
  state: 'session-of-nora',
  providers: ['microsoft'],
  oauthAppIds: { microsoft: process.env.APP ?? '' },
})
console.log(`export SESSION=${id}`)
console.log(`export LINK=${url}`)
