import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})

// The newest account, and its id for the programs to come.
const { items: accounts } = await waxwing.accounts.list({ limit: 1 })
for (const account of accounts) {
  console.log(`${account.email} is ${account.status}`)
  console.log(`export ACCOUNT=${account.id}`)
}
