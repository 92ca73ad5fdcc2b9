/** A process that answers as the service does, from memory: pages of messages, and a stream of events. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { EVENTS, MESSAGES, PAGE } from './sdk-numbers.ts'

const message = (nth: number) => ({
  id: `01a20da3-d928-70c4-a25f-${String(nth).padStart(12, '0')}`,
  accountId: '01a20da3-0410-7449-9207-9a66433e2e80',
  subject: `Figures of week ${nth}`,
  from: { name: 'Grace Hopper', address: 'grace@example.org' },
  to: [{ name: 'Ada Lovelace', address: 'ada@example.org' }],
  preview: 'Dear Ada, here are the figures of this week. '.repeat(4),
  isRead: nth % 2 === 0,
  isFlagged: false,
  hasAttachments: nth % 5 === 0,
  date: '2026-11-21T08:14:10.204Z',
})
const pages = Array.from({ length: MESSAGES / PAGE }, (_, at) =>
  JSON.stringify({
    items: Array.from({ length: PAGE }, (__, nth) => message(at * PAGE + nth)),
    nextCursor: (at + 1) * PAGE < MESSAGES ? String(at + 1) : null,
  }),
)
const events = Array.from({ length: EVENTS }, (_, nth) => {
  const event = { id: String(nth + 1), type: 'message.created', data: { message: message(nth) } }
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}).join('')

const server = createServer(({ url = '' }, response) => {
  const { pathname, searchParams } = new URL(url, 'http://bench')
  if (pathname.endsWith('/stream'))
    return void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(events)
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(pages[Number(searchParams.get('cursor') ?? 0)])
}).listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
