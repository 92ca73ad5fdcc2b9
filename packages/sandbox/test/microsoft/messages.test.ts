import { expect, test } from 'vitest'
import { findMessage, wellKnownFolder } from '../../src/microsoft/mailbox/mailbox.ts'
import { addMessage, changeMessage, moveMessage } from '../../src/microsoft/mailbox/messages.ts'
import type { MessageFields } from '../../src/microsoft/mailbox/message.ts'
import type { User } from '../../src/world/users.ts'
import { letter } from '../letter.ts'
import { IMMUTABLE } from './client.ts'
import { useGraph } from './use-graph.ts'

const graph = useGraph()
const HOUR_MS = 3600 * 1000

interface Given extends Partial<MessageFields> {
  headers?: Record<string, string>
  body?: string
}

/** Puts a message into the inbox. */
function add(user: User, { headers = {}, body, ...fields }: Given) {
  const mailbox = graph.mailbox(user)
  const raw = letter({ From: 'Ada <ada@office.test>', To: user.email, ...headers }, body)
  return addMessage(mailbox, { folder: wellKnownFolder(mailbox, 'inbox'), raw, fields })
}

const subjects = async (user: User, query: string) => {
  const { status, data } = await graph.ask(user, 'GET', `messages?$select=subject&$top=100&${query}`)
  return status === 200
    ? data.value.map(({ subject }: { subject: string }) => subject)
    : `${status} ${data.error.code}`
}

test('pages with $top and $skip, by which a message is seen twice when another one comes in', async () => {
  const eva = graph.addUser('eva@office.test', 50)
  const first = await graph.ask(eva, 'GET', 'messages?$select=id&$count=true')
  expect(first.data.value).toHaveLength(10)
  expect(first.data['@odata.count']).toBe(53)
  graph.mail.receive(eva, { message: letter({ Subject: 'New' }), from: null })
  const second = await graph.ask(eva, 'GET', first.data['@odata.nextLink'])
  expect(second.data.value[0].id).toBe(first.data.value[9].id)
  expect((await graph.ask(eva, 'GET', 'messages/$count')).data).toBe('54')
  expect((await graph.ask(eva, 'GET', 'messages?$top=0')).status).toBe(400)
  expect((await graph.ask(eva, 'GET', 'messages?$top=1001')).status).toBe(400)
  expect((await graph.ask(eva, 'GET', 'messages?$apply=x')).status).toBe(400)
})

test('gives only what $select names, and refuses unknown names', async () => {
  const eva = graph.addUser('eva@office.test', 5)
  const { data } = await graph.ask(eva, 'GET', 'messages?$top=1&$select=Subject,isRead')
  expect(Object.keys(data.value[0])).toEqual(['@odata.etag', 'id', 'subject', 'isRead'])
  const bad = await graph.ask(eva, 'GET', 'messages?$select=wings')
  expect(bad.data.error.message).toContain("Could not find a property named 'wings'")
  const whole = await graph.ask(eva, 'GET', 'messages?$top=1')
  expect(whole.data.value[0]).not.toHaveProperty('internetMessageHeaders')
  expect(whole.data.value[0]).not.toHaveProperty('uniqueBody')
})

test('filters by each kind of property', async () => {
  const eva = graph.addUser('eva@office.test')
  const now = graph.clock.now()
  add(eva, { headers: { Subject: 'Old' }, receivedAt: now - 48 * HOUR_MS, isRead: true, importance: 'high' })
  add(eva, { headers: { Subject: "It's new" }, receivedAt: now - HOUR_MS, categories: ['Red', 'Größe'] })
  const flagged = add(eva, {
    headers: { Subject: 'Flagged', From: '"Jones, Sam" <sam@shop.test>', 'Message-ID': '<one@shop.test>' },
    flag: { flagStatus: 'flagged' },
    receivedAt: now,
  })
  const since = new Date(now - 2 * HOUR_MS).toISOString()
  const table: [filter: string, found: string[] | string][] = [
    [`receivedDateTime ge ${since}`, ['Flagged', "It's new"]],
    [`receivedDateTime lt ${since} and isRead eq true`, ['Old']],
    ["subject eq 'it''s NEW'", ["It's new"]],
    ["startswith(subject,'fl') or contains(subject,'old')", ['Flagged', 'Old']],
    ["not (importance eq 'high')", ['Flagged', "It's new"]],
    ["categories/any(c:c eq 'Größe')", ["It's new"]],
    ["from/emailAddress/address eq 'SAM@shop.test'", ['Flagged']],
    ["flag/flagStatus eq 'flagged' and isRead", []],
    ["internetMessageId eq '<one@shop.test>'", ['Flagged']],
    [`conversationId eq '${flagged.conversationId}'`, ['Flagged']],
    [`parentFolderId eq '${flagged.folder.id}' and isRead ne false`, ['Old']],
    ["toRecipients/any(r:r/emailAddress/address eq 'eva@office.test')", ['Flagged', "It's new", 'Old']],
    ['importance ne null', ['Flagged', "It's new", 'Old']],
    [`receivedDateTime ge '${since}'`, '400 BadRequest'],
    ["isRead eq 'true'", '400 BadRequest'],
    ["subject eq 'open", '400 BadRequest'],
    ["wings eq 'x'", '400 BadRequest'],
    ["subject is 'x'", '400 BadRequest'],
    ['(isRead eq true', '400 BadRequest'],
    ['isRead eq true)', '400 BadRequest'],
    ['', '400 BadRequest'],
  ]
  for (const [filter, found] of table)
    expect(await subjects(eva, `$filter=${encodeURIComponent(filter)}`), filter).toEqual(found)
})

test('orders by the properties with which a filter begins, and refuses other pairs', async () => {
  const eva = graph.addUser('eva@office.test')
  const now = graph.clock.now()
  for (const [nth, subject] of ['b', 'c', 'a'].entries())
    add(eva, { headers: { Subject: subject }, receivedAt: now - nth * HOUR_MS, isRead: nth === 1 })
  expect(await subjects(eva, '$orderby=subject')).toEqual(['a', 'b', 'c'])
  expect(await subjects(eva, '$orderby=isRead desc,subject desc')).toEqual(['c', 'b', 'a'])
  expect(await subjects(eva, '$orderby=receivedDateTime')).toEqual(['a', 'c', 'b'])
  const since = `receivedDateTime ge ${new Date(now - 9 * HOUR_MS).toISOString()}`
  expect(await subjects(eva, `$filter=${since} and isRead eq false&$orderby=receivedDateTime desc`)).toEqual([
    'b',
    'a',
  ])
  expect(await subjects(eva, `$filter=isRead eq false and ${since}&$orderby=receivedDateTime desc`)).toBe(
    '400 InefficientFilter',
  )
  expect(await subjects(eva, '$filter=isRead eq false&$orderby=receivedDateTime')).toBe(
    '400 InefficientFilter',
  )
  expect(await subjects(eva, '$orderby=body')).toBe('400 BadRequest')
  const [last] = await subjects(eva, '$orderby=lastModifiedDateTime desc')
  const message = graph.mailbox(eva).ordered.find(({ subject }) => subject !== last)
  graph.clock.turn(1000)
  if (message) changeMessage(graph.mailbox(eva), message, { isRead: true })
  expect((await subjects(eva, '$orderby=lastModifiedDateTime desc'))[0]).toBe(message?.subject)
})

test('searches words, properties and dates, newest sent first', async () => {
  const eva = graph.addUser('eva@office.test')
  const date = (day: string) => new Date(`${day}T12:00:00Z`).toUTCString()
  add(eva, {
    headers: { Subject: 'Lunch on Thursday', Date: date('2026-03-05') },
    body: 'The garden is open',
    receivedAt: Date.parse('2026-03-05T12:00:00Z'),
  })
  add(eva, {
    headers: { Subject: 'Invoice', From: 'Sam <sam@shop.test>', Date: date('2026-03-07') },
    body: 'For the lunch',
    receivedAt: Date.parse('2026-03-07T12:00:00Z'),
  })
  const table: [search: string, found: string[] | string][] = [
    ['"lunch"', ['Invoice', 'Lunch on Thursday']],
    ['lun', ['Invoice', 'Lunch on Thursday']],
    ['"subject:lunch"', ['Lunch on Thursday']],
    ['"from:sam@shop.test"', ['Invoice']],
    ['"participants:eva"', ['Invoice', 'Lunch on Thursday']],
    [String.raw`"subject:\"on thursday\""`, ['Lunch on Thursday']],
    [String.raw`"subject:\"thursday on\""`, []],
    ['"lunch AND NOT from:sam"', ['Lunch on Thursday']],
    ['"garden OR (invoice AND from:sam)"', ['Invoice', 'Lunch on Thursday']],
    ['"received>=2026-03-06"', ['Invoice']],
    ['"received<2026-03-06"', ['Lunch on Thursday']],
    ['"received:2026-03-01..2026-03-05 lunch"', ['Lunch on Thursday']],
    ['"sent=3/7/2026"', ['Invoice']],
    ['"hasAttachments:true"', []],
    ['"received>=soon"', '400 BadRequest'],
    ['from:sam', '400 BadRequest'],
  ]
  for (const [search, found] of table)
    expect(await subjects(eva, `$search=${encodeURIComponent(search)}`), search).toEqual(found)
  expect(await subjects(eva, '$search="lunch"&$filter=isRead eq true')).toBe('400 SearchWithFilter')
  expect(await subjects(eva, '$search="lunch"&$orderby=subject')).toBe('400 SearchWithOrderBy')
})

test('finds 1,000 messages by a search at the most, over all of its pages', async () => {
  const eva = graph.addUser('eva@office.test')
  for (let nth = 0; nth < 1_050; nth += 1) add(eva, { headers: { Subject: `Report ${nth}` } })
  const found = new Set<string>()
  let link: string | undefined = 'messages?$search="report"&$top=300&$select=id'
  while (link) {
    const { data }: Awaited<ReturnType<typeof graph.ask>> = await graph.ask(eva, 'GET', link)
    for (const { id } of data.value) found.add(id)
    link = data['@odata.nextLink']
    if (link) expect(link).toContain('skiptoken')
  }
  expect(found.size).toBe(1_000)
})

test('has extended properties, with ids as Graph writes them, in $expand and $filter', async () => {
  const eva = graph.addUser('eva@office.test')
  const message = add(eva, {
    headers: { Subject: 'One' },
    messageClass: 'REPORT.IPM.Note.NDR',
    extended: new Map([['String {00020329-0000-0000-c000-000000000046} Name mark', 'x']]),
  })
  add(eva, { headers: { Subject: 'Two' } })
  const mark = "'String {00020329-0000-0000-C000-000000000046} Name mark'"
  const expand = `$expand=singleValueExtendedProperties($filter=id eq 'String 0x001A' or id eq 'Integer 0x0E08' or id eq ${mark})`
  const { data } = await graph.ask(eva, 'GET', `messages/${message.id}?$select=id&${expand}`)
  expect(data.singleValueExtendedProperties).toEqual([
    { id: 'String 0x1a', value: 'REPORT.IPM.Note.NDR' },
    { id: 'Integer 0xe08', value: String(message.raw.length) },
    { id: 'String {00020329-0000-0000-c000-000000000046} Name mark', value: 'x' },
  ])
  const any = (id: string, value: string) =>
    `$filter=singleValueExtendedProperties/Any(ep: ep/id eq ${id} and ep/value eq '${value}')`
  expect(await subjects(eva, any(mark, 'x'))).toEqual(['One'])
  expect(await subjects(eva, any("'String 0x001A'", 'IPM.Note'))).toEqual(['Two'])
  expect(await subjects(eva, '$expand=singleValueExtendedProperties')).toBe('400 BadRequest')
})

test('has another id after a move without the preference, and the same one with it', async () => {
  const eva = graph.addUser('eva@office.test')
  const message = add(eva, { headers: { Subject: 'One' } })
  const before = await graph.ask(eva, 'GET', `messages/${message.id}`)
  const lasting = await graph.ask(eva, 'GET', `messages/${message.id}`, undefined, IMMUTABLE)
  expect(lasting.data.id).not.toBe(before.data.id)
  expect(lasting.headers.get('preference-applied')).toBe('IdType="ImmutableId"')
  moveMessage(graph.mailbox(eva), message, wellKnownFolder(graph.mailbox(eva), 'archive'))
  const old = await graph.ask(eva, 'GET', `messages/${before.data.id}`)
  expect([old.status, old.data.error.code]).toEqual([404, 'ErrorItemNotFound'])
  const moved = await graph.ask(eva, 'GET', `messages/${lasting.data.id}`, undefined, IMMUTABLE)
  expect(moved.data).toMatchObject({ id: lasting.data.id })
  expect(moved.data.parentFolderId).not.toBe(before.data.parentFolderId)
  expect(moved.data['@odata.etag']).not.toBe(before.data['@odata.etag'])
  expect((await graph.ask(eva, 'GET', `messages/${lasting.data.id}`)).data.id).toBe(message.id)
  expect((await graph.ask(eva, 'GET', `mailFolders/inbox/messages/${message.id}`)).status).toBe(404)
  expect((await graph.ask(eva, 'GET', `mailFolders/archive/messages/${message.id}`)).status).toBe(200)
})

test('has ids of messages that differ in case only', async () => {
  const eva = graph.addUser('eva@office.test', 300)
  for (const headers of [{}, IMMUTABLE]) {
    const { data } = await graph.ask(eva, 'GET', 'messages?$top=1000&$select=id', undefined, headers)
    const ids: string[] = data.value.map(({ id }: { id: string }) => id)
    expect(new Set(ids).size).toBe(303)
    expect(new Set(ids.map(id => id.toLowerCase())).size).toBeLessThan(303)
  }
})

test('keeps the bytes of a message, and shows its body as HTML or as the client prefers', async () => {
  const eva = graph.addUser('eva@office.test')
  const message = Buffer.from(
    'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nX-Odd:  kept \n\nGr\xFC\xDFe & <b>\n',
    'latin1',
  )
  const { id } = graph.mail.receive(eva, { message, from: null })
  const kept = findMessage(graph.mailbox(eva), id)
  expect(kept?.raw.equals(message)).toBe(true)
  const html = await graph.ask(eva, 'GET', `messages/${id}?$select=subject,body,internetMessageHeaders`)
  expect(html.data.subject).toBe('Grüße')
  expect(html.data.body.contentType).toBe('html')
  expect(html.data.body.content).toContain('&amp; &lt;b&gt;')
  expect(html.data.internetMessageHeaders).toContainEqual({ name: 'X-Odd', value: 'kept' })
  const prefer = { prefer: 'outlook.body-content-type="text", IdType="ImmutableId"' }
  const text = await graph.ask(eva, 'GET', `messages/${id}?$select=body`, undefined, prefer)
  expect(text.data.body.contentType).toBe('text')
  expect(text.data.body.content).toContain('& <b>')
})

test('joins the messages that answer one another under one subject', async () => {
  const eva = graph.addUser('eva@office.test')
  const one = add(eva, { headers: { Subject: 'Plan', 'Message-ID': '<1@x.test>' } })
  const answer = add(eva, {
    headers: { Subject: 'RE: Plan', 'In-Reply-To': '<1@x.test>', 'Message-ID': '<2@x.test>' },
  })
  const other = add(eva, { headers: { Subject: 'New plan', References: '<1@x.test> <2@x.test>' } })
  expect(answer.conversationId).toBe(one.conversationId)
  expect(other.conversationId).not.toBe(one.conversationId)
})

test('refuses a caller without the permission, and a method that a path does not have', async () => {
  const eva = graph.addUser('eva@office.test', 2)
  const denied = await graph.ask(eva, 'GET', 'messages', undefined, {}, ['User.Read'])
  expect([denied.status, denied.data.error.code]).toEqual([403, 'ErrorAccessDenied'])
  const reads = await graph.ask(eva, 'POST', 'mailFolders', { displayName: 'x' }, {}, ['Mail.Read'])
  expect(reads.status).toBe(403)
  expect((await graph.ask(eva, 'PUT', 'messages')).status).toBe(405)
  expect((await graph.ask(eva, 'GET', 'wings')).data.error.message).toContain("segment 'wings'")
})

test('serves a folder of 6,000 messages by pages of 500', async () => {
  const eva = graph.addUser('eva@office.test')
  for (let nth = 0; nth < 6_000; nth += 1) add(eva, { headers: { Subject: `Message ${nth}` } })
  let link: string | undefined =
    'mailFolders/inbox/messages?$top=500&$orderby=receivedDateTime desc&$select=id,isRead'
  let seen = 0
  while (link) {
    const { data }: Awaited<ReturnType<typeof graph.ask>> = await graph.ask(eva, 'GET', link)
    seen += data.value.length
    link = data['@odata.nextLink']
  }
  expect(seen).toBe(6_000)
})
