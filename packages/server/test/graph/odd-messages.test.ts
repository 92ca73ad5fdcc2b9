import { expect, test } from 'vitest'
import { letter, letters } from '../../src/providers/conformance/arrangement.ts'
import { openIndex } from '../../src/providers/conformance/memory-index.ts'
import type { MessageKey } from '../../src/providers/mail.ts'
import { useServer } from '../servers/shared-server.ts'
import { arrangeGraph } from './arrange-graph.ts'
import { type GraphCall, startGraph } from './graph-server.ts'

/* One odd message keeps no other from the index: it is cut, or left out and reported. */

const server = useServer(startGraph)

const isOf = ({ path }: GraphCall, key: MessageKey) =>
  path.includes(`/messages/${encodeURIComponent(String(key))}?`)
/** Whether a call asks for a page of whole messages. */
const isWholePage = ({ path }: GraphCall) =>
  /\/mailFolders\/[^/]+\/messages\?/.test(path) && path.includes('internetMessageHeaders')
const bytes = (count: number) => new Response(new Uint8Array(count))

test('a message with more header fields and categories than are kept is cut', async () => {
  await using arranged = await arrangeGraph(server())
  const fields = Array.from({ length: 5_100 }, (_, number) => `X-Field-${number}: ${number}\r\n`).join('')
  const [many, ...others] = await arranged.world.deliver([{ raw: letter(1, fields) }, ...letters(5, 3)])
  await arranged.world.flag(
    'INBOX',
    [others[0]!],
    ...Array.from({ length: 1_100 }, (_, number) => `${number} ${'x'.repeat(1_100)}`),
  )
  await using account = await arranged.connect()
  const index = openIndex(arranged.inbox)
  await index.follow(account.mail)
  expect(new Set(index.messages.keys())).toEqual(new Set([many, ...others]))
  expect(index.unreadable.size).toBe(0)
  const { categories } = index.messages.get(others[0]!)!
  expect([categories.length, Math.max(...categories.map(name => name.length))]).toEqual([1_000, 1_000])
  expect(account.mail.isComplete(index.cursor, null)).toBe(true)
})

test('a page that is too large is read by its ids, and only the message that is too large itself is left out', async () => {
  await using arranged = await arrangeGraph(server())
  const keys = await arranged.world.deliver(letters(30))
  const bad = keys[17]!
  server().intercept = call => {
    if (isWholePage(call)) return bytes(33 * 1024 * 1024)
    return isOf(call, bad) ? bytes(5 * 1024 * 1024) : null
  }
  await using account = await arranged.connect()
  const index = openIndex(arranged.inbox)
  await index.follow(account.mail)
  expect([...index.unreadable.keys()]).toEqual([bad])
  expect(index.unreadable.get(bad)).toMatch(/more than an answer may have/)
  expect(new Set(index.messages.keys())).toEqual(new Set(keys.filter(key => key !== bad)))
  expect(account.mail.isComplete(index.cursor, null)).toBe(true)
})

test('a message of a list that names no folder belongs to the folder that was listed', async () => {
  await using arranged = await arrangeGraph(server())
  const [key] = await arranged.world.deliver(letters(1))
  server().intercept = call =>
    isWholePage(call)
      ? Response.json({ value: [{ id: key, receivedDateTime: new Date().toISOString() }] })
      : null
  await using account = await arranged.connect()
  const index = openIndex(arranged.inbox)
  await index.follow(account.mail)
  expect(index.messages.get(key!)?.mailboxKeys).toEqual([arranged.inbox])
})

test('all of a second is read, although its pages are too large, and more arrived in it than a page has', async () => {
  await using arranged = await arrangeGraph(server())
  const internalDate = new Date('2024-05-01T10:00:00Z')
  const keys = await arranged.world.deliver(letters(300).map(({ raw }) => ({ raw, internalDate })))
  server().intercept = call => (isWholePage(call) ? Response.json({ value: 'none' }) : null)
  await using account = await arranged.connect()
  const index = openIndex(arranged.inbox)
  await index.follow(account.mail)
  expect(new Set(index.messages.keys())).toEqual(new Set(keys))
})

test('a state that cannot be read does not end a walk, and its message is asked for by its id', async () => {
  await using arranged = await arrangeGraph(server())
  const keys = await arranged.world.deliver(letters(30))
  await using account = await arranged.connect()
  const index = openIndex(arranged.inbox)
  await index.follow(account.mail)
  const [odd, bad] = [keys[3]!, keys[5]!]
  await arranged.world.flag('INBOX', keys, '\\Seen')
  server().intercept = call => {
    if (isOf(call, bad)) return Response.json({ id: bad, isRead: 'yes' })
    if (!call.path.includes('deltatoken')) return null
    const value = keys.map(id => ({
      id,
      parentFolderId: arranged.inbox,
      isRead: true,
      isDraft: false,
      flag: { flagStatus: 'notFlagged' },
      categories: [],
      ...(id === odd && { isRead: 'yes', flag: 7 }),
      ...(id === bad && { categories: 'none' }),
    }))
    return Response.json({
      value,
      '@odata.deltaLink': `https://graph.microsoft.com${call.path.replace(/\?.*/, '')}?$deltatoken=x`,
    })
  }
  await index.follow(account.mail)
  expect([...index.unreadable.keys()]).toEqual([bad])
  for (const key of keys.filter(other => other !== bad))
    expect(index.messages.get(key), String(key)).toMatchObject({ isRead: true })
})

test('the only new message that Graph cannot give is reported, while it gives other things', async () => {
  await using arranged = await arrangeGraph(server())
  const keys = await arranged.world.deliver(letters(3))
  await using account = await arranged.connect()
  const index = openIndex(arranged.inbox)
  await index.follow(account.mail)
  const [bad] = await arranged.world.deliver(letters(1, 10))
  await arranged.poison([bad!], 'refuse')
  await index.follow(account.mail)
  expect([...index.unreadable.keys()]).toEqual([bad])
  const [next] = await arranged.world.deliver(letters(1, 11))
  index.skip.add(bad!)
  await index.follow(account.mail)
  expect(new Set(index.messages.keys())).toEqual(new Set([...keys, next]))
})

test('no message is reported as unreadable while Graph answers nothing', async () => {
  await using arranged = await arrangeGraph(server())
  await arranged.world.deliver(letters(3))
  await using account = await arranged.connect()
  const index = openIndex(arranged.inbox)
  await index.follow(account.mail)
  await arranged.world.deliver(letters(2, 10))
  const before = index.cursor
  server().intercept = ({ path }) =>
    path.includes('delta') ? null : Response.json({ error: { code: 'ServiceUnavailable' } }, { status: 503 })
  await expect(index.compare(account.mail)).rejects.toMatchObject({ kind: 'unavailable' })
  expect([index.unreadable.size, index.cursor]).toEqual([0, before])
})

test('more messages than a cursor holds that are named before they are there come all, or are reported', async () => {
  await using arranged = await arrangeGraph(server())
  await arranged.world.deliver(letters(3))
  await using account = await arranged.connect()
  const index = openIndex(arranged.inbox)
  await index.follow(account.mail)
  const late = await arranged.world.deliver(letters(150, 10))
  server().intercept = ({ path }) =>
    /\/messages\/[^?]/.test(path) && !path.includes('delta')
      ? Response.json({ error: { code: 'ErrorItemNotFound' } }, { status: 404 })
      : null
  await index.follow(account.mail)
  expect(index.unreadable.size).toBe(50)
  server().intercept = null
  index.retry.push(...index.unreadable.keys())
  await index.bring(account.mail)
  expect(late.filter(key => !index.messages.has(key))).toEqual([])
})

test('a message that a walk named before it was there comes with a later pass', async () => {
  await using arranged = await arrangeGraph(server())
  await arranged.world.deliver(letters(3))
  await using account = await arranged.connect()
  const index = openIndex(arranged.inbox)
  await index.follow(account.mail)
  index.cursor = account.mail.relist!(index.cursor!)
  const [late] = await arranged.world.deliver(letters(1, 10))
  server().intercept = call =>
    isOf(call, late!) ? Response.json({ error: { code: 'ErrorItemNotFound' } }, { status: 404 }) : null
  await index.bring(account.mail)
  expect(index.messages.has(late!)).toBe(false)
  server().intercept = null
  await index.bring(account.mail)
  expect(index.messages.has(late!)).toBe(true)
})
