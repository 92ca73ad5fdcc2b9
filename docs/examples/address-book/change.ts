import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})
const accountId = process.env.ACCOUNT ?? ''

const { id: contactId } = await waxwing.contacts.create({
  accountId,
  displayName: 'Grace Hopper',
  emails: [{ address: 'grace@example.org', type: 'work' }],
})
const grace = await waxwing.contacts.update({ accountId, contactId, jobTitle: 'Rear Admiral' })
console.log(`${grace.displayName} has the address ${grace.emails[0]?.address}`)
await waxwing.contacts.delete({ accountId, contactId })
