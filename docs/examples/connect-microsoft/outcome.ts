import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})

// A return is only a message from a browser, so the service is asked.
const session = await waxwing.connectSessions.get({ sessionId: process.env.SESSION ?? '' })
console.log(session.status)
if (session.accountId !== null) {
  const account = await waxwing.accounts.get({ accountId: session.accountId })
  console.log(`${account.email} is ${account.status}`)
}
