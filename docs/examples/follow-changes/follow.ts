import { existsSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { isEvent, Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})

// The file `cursor` has the position in the feed.
async function save(cursor: string) {
  // A crash amid writing must not leave half a cursor.
  await writeFile('cursor.new', cursor)
  await rename('cursor.new', 'cursor')
}

// The position is saved before anything can happen, so that nothing is missed from here on.
if (!existsSync('cursor')) await save((await waxwing.changes.list({ start: 'now' })).nextCursor)
console.log('Following')
await waxwing.changes.follow(
  { load: () => readFile('cursor', 'utf8'), save },
  event => {
    if (!isEvent(event, 'message.created')) return
    const { message } = event.data
    if (message.direction === 'inbound') console.log(`${message.from?.address}: ${message.subject}`)
  },
  { types: ['message.created'] },
)
