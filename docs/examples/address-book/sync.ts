import { type Contact, isEvent, Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})
const accountId = process.env.ACCOUNT ?? ''

// A copy of the address book. The position comes first, then the lists: what changes meanwhile is in the feed.
const { nextCursor: cursor } = await waxwing.changes.list({ start: 'now' })
const copy = new Map<string, Contact>()
for await (const contact of waxwing.contacts.list({ accountId })) copy.set(contact.id, contact)
console.log(`${copy.size} contacts`)

const types = ['contact.created' as const, 'contact.updated' as const, 'contact.deleted' as const]
for await (const event of waxwing.changes.stream({ cursor, types })) {
  if (event.accountId !== accountId) continue
  if (isEvent(event, 'contact.deleted')) {
    copy.delete(event.data.contact.id)
    console.log('deleted')
  } else if (isEvent(event, 'contact.created') || isEvent(event, 'contact.updated')) {
    const { contact } = event.data
    copy.set(contact.id, contact)
    const parts = [contact.displayName, contact.jobTitle].filter(part => part !== null)
    console.log(`${event.type.slice('contact.'.length)}: ${parts.join(', ')}`)
  }
}
