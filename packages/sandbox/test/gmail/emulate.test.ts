import { createServer } from 'node:net'
import { createEmulator } from 'emulate'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSandbox, type Sandbox } from '../../src/open-sandbox.ts'
import type { Parsed } from '../read-answer.ts'
import { letter } from '../letter.ts'
import { MAIL, rawOf } from './use-gmail.ts'

/**
 * The same calls to this Gmail and to another imitation of it. They agree, but for the differences below, each of
 * which was settled by what Google documents.
 */
interface World {
  origin: string
  token: string
  /** Ids of what the steps made, and the threads in the order of their first showing. */
  ids: Record<string, string>
  threads: string[]
}

const USERS = [
  { email: 'ada@gmail.test', name: 'Ada' },
  { email: 'ben@gmail.test', name: 'Ben' },
]

/** The emulator takes no port 0. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise(resolve => void server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

let emulator: { url: string; close(): Promise<void> }
let sandbox: Sandbox
let ours: World
let theirs: World

beforeAll(async () => {
  const tokens = { token: { login: 'ada@gmail.test', scopes: [MAIL] } }
  emulator = await createEmulator({
    service: 'google',
    port: await freePort(),
    seed: { tokens, google: { users: USERS } },
  })
  sandbox = await openSandbox({
    seed: { users: USERS, clients: [{ clientId: 'sandbox', clientSecret: 'secret' }] },
  })
  const grant = { user: 'ada@gmail.test', clientId: 'sandbox', scopes: [MAIL] }
  const response = await fetch(`${sandbox.controlUrl}/grants`, {
    method: 'POST',
    body: JSON.stringify(grant),
  })
  const { accessToken } = (await response.json()) as { accessToken: string }
  ours = { origin: sandbox.hosts['gmail.googleapis.com'] ?? '', token: accessToken, ids: {}, threads: [] }
  theirs = { origin: emulator.url, token: 'token', ids: {}, threads: [] }
})

afterAll(async () => {
  await sandbox[Symbol.asyncDispose]()
  await emulator.close()
})

const first = {
  From: 'Zoe <zoe@example.test>',
  To: 'ada@gmail.test',
  Subject: 'Zebra',
  'Message-ID': '<first@example.test>',
  Date: 'Fri, 2 Jan 2015 03:04:05 +0000',
}
const reply = {
  ...first,
  Subject: 'Re: Zebra',
  'Message-ID': '<second@example.test>',
  'In-Reply-To': '<first@example.test>',
  References: '<first@example.test>',
}
const files = letter(
  {
    From: 'zoe@example.test',
    To: 'ada@gmail.test',
    Subject: 'Files',
    'MIME-Version': '1.0',
    'Content-Type': 'multipart/mixed; boundary=b',
  },
  [
    '--b',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'Grüße',
    '--b',
    'Content-Type: application/pdf',
    'Content-Disposition: attachment; filename="r.pdf"',
    'Content-Transfer-Encoding: base64',
    '',
    'AAECAwQ=',
    '--b--',
  ].join('\r\n'),
)
const message = (headers: Record<string, string>, labelIds?: string[]) => ({
  raw: rawOf(letter(headers)),
  labelIds,
})

type Seen = (data: Parsed, world: World) => unknown

const thread = (world: World, id: string): string => {
  if (!world.threads.includes(id)) world.threads.push(id)
  return `thread ${world.threads.indexOf(id)}`
}
const named = (world: World, id: string): string =>
  Object.entries(world.ids).find(([, value]) => value === id)?.[0] ?? 'another'
const labelled: Seen = (data, world) => [
  thread(world, data.threadId),
  (data.labelIds ?? []).map((id: string) => (id.startsWith('Label_') ? named(world, id) : id)).toSorted(),
]
const listed: Seen = (data, world) =>
  (data.messages ?? []).map(({ id }: Parsed) => named(world, id)).toSorted()
const drafted: Seen = (data, world) => [named(world, data.id), labelled(data.message, world)]
const reason: Seen = data => data.error?.code
const nothing: Seen = () => null

interface Step {
  name: string
  call: [method: string, path: string, body?: object]
  seen: Seen
  /** Remembers the id, or a part of the answer, by this name. */
  keep?: string
  /** How the other imitation differs, and why this one is right. */
  settled?: string
}

const search = (q: string, settled?: string): Step => ({
  name: `search ${q}`,
  call: ['GET', `messages?q=${encodeURIComponent(q)}`],
  seen: listed,
  settled,
})

const STEPS: Step[] = [
  {
    name: 'label',
    call: ['POST', 'labels', { name: 'Work/Bills' }],
    keep: 'label',
    seen: data => [data.name, data.type, data.labelListVisibility],
  },
  {
    name: 'label twice',
    call: ['POST', 'labels', { name: 'work/bills' }],
    seen: reason,
    settled: 'Gmail answers 409, not 400.',
  },
  { name: 'label INBOX', call: ['POST', 'labels', { name: 'INBOX' }], seen: reason },
  { name: 'rename', call: ['PATCH', 'labels/{label}', { name: 'Bills' }], seen: data => data.name },
  {
    name: 'counts',
    call: ['GET', 'labels/{label}'],
    seen: data => [data.name, data.messagesTotal, data.threadsUnread],
  },
  { name: 'no label', call: ['GET', 'labels/none'], seen: reason },
  {
    name: 'insert',
    call: ['POST', 'messages?internalDateSource=dateHeader', message(first, ['INBOX', 'UNREAD'])],
    keep: 'first',
    seen: labelled,
  },
  {
    name: 'minimal',
    call: ['GET', 'messages/{first}?format=minimal'],
    seen: data => [data.snippet, data.internalDate, Object.keys(data).includes('payload')],
  },
  {
    name: 'raw',
    call: ['GET', 'messages/{first}?format=raw'],
    seen: data => Buffer.from(data.raw, 'base64url').toString(),
  },
  {
    name: 'size',
    call: ['GET', 'messages/{first}?format=raw'],
    seen: data => data.sizeEstimate,
    settled: 'The size is that of the bytes, not of their base64.',
  },
  {
    name: 'history',
    call: ['GET', 'messages/{first}?format=minimal'],
    keep: 'history:historyId',
    seen: nothing,
  },
  { name: 'no message', call: ['GET', 'messages/none'], seen: reason },
  {
    name: 'reply',
    call: ['POST', 'messages/import', message(reply, ['INBOX'])],
    keep: 'reply',
    seen: labelled,
  },
  {
    name: 'files',
    call: ['POST', 'messages', { raw: rawOf(files), labelIds: ['INBOX'] }],
    keep: 'files',
    seen: labelled,
  },
  {
    name: 'parts',
    call: ['GET', 'messages/{files}'],
    seen: data =>
      data.payload.parts.map((part: Parsed) => [
        part.partId,
        part.mimeType,
        part.filename,
        part.body.size,
        part.body.data !== undefined,
      ]),
  },
  { name: 'list', call: ['GET', 'messages'], seen: listed },
  {
    name: 'page',
    call: ['GET', 'messages?maxResults=1'],
    seen: (data, world) => [listed(data, world), typeof data.nextPageToken],
  },
  { name: 'by labels', call: ['GET', 'messages?labelIds=UNREAD&labelIds=INBOX'], seen: listed },
  {
    name: 'by no label',
    call: ['GET', 'messages?labelIds=none'],
    seen: reason,
    settled: 'Gmail refuses a label that is not there.',
  },
  ...[
    'subject:zebra',
    'from:zoe',
    'to:ada@gmail.test',
    'is:unread',
    'has:attachment',
    'in:inbox',
    'label:bills',
    'after:1400000000',
    'before:2016/01/01',
    '"hello"',
  ].map(q => search(q)),
  ...[
    'rfc822msgid:first@example.test',
    'larger:10',
    'zebra OR files',
    '-zebra',
    'filename:pdf',
    'subject:(zebra OR files) -is:unread',
  ].map(q => search(q, 'Gmail has this operator.')),
  {
    name: 'modify',
    call: [
      'POST',
      'messages/{first}/modify',
      { addLabelIds: ['{label}', 'STARRED'], removeLabelIds: ['UNREAD'] },
    ],
    seen: labelled,
  },
  {
    name: 'modify shows',
    call: ['POST', 'messages/{first}/modify', { addLabelIds: ['STARRED'] }],
    seen: data => Object.keys(data).toSorted(),
    settled: 'Gmail answers ids and labels only.',
  },
  {
    name: 'modify SENT',
    call: ['POST', 'messages/{reply}/modify', { addLabelIds: ['SENT'] }],
    seen: reason,
    settled: 'SENT and DRAFT cannot be set.',
  },
  {
    name: 'modify nothing',
    call: ['POST', 'messages/{first}/modify', {}],
    seen: reason,
    settled: 'Gmail refuses a change of nothing.',
  },
  { name: 'trash', call: ['POST', 'messages/{first}/trash'], seen: labelled },
  { name: 'list without trash', call: ['GET', 'messages'], seen: listed },
  { name: 'list with trash', call: ['GET', 'messages?includeSpamTrash=true'], seen: listed },
  { name: 'untrash', call: ['POST', 'messages/{first}/untrash'], seen: labelled },
  {
    name: 'threads',
    call: ['GET', 'threads'],
    seen: (data, world) => data.threads.map(({ id }: Parsed) => thread(world, id)),
  },
  {
    name: 'modify many',
    call: ['POST', 'messages/batchModify', { ids: ['{first}', '{files}'], addLabelIds: ['IMPORTANT'] }],
    seen: nothing,
  },
  { name: 'modified', call: ['GET', 'messages?labelIds=IMPORTANT'], seen: listed },
  {
    name: 'draft',
    call: ['POST', 'drafts', { message: message({ To: 'ben@gmail.test', Subject: 'Draft' }) }],
    keep: 'draft',
    seen: drafted,
  },
  {
    name: 'its message',
    call: ['GET', 'drafts/{draft}?format=minimal'],
    keep: 'message:message.id',
    seen: drafted,
  },
  {
    name: 'change of the draft',
    call: ['PUT', 'drafts/{draft}', { message: message({ To: 'ben@gmail.test', Subject: 'Draft' }) }],
    seen: drafted,
  },
  {
    name: 'message of the draft',
    call: ['GET', 'drafts/{draft}?format=minimal'],
    seen: (data, world) => named(world, data.message.id),
    settled: 'Each change of a draft makes another message.',
  },
  {
    name: 'drafts',
    call: ['GET', 'drafts'],
    seen: (data, world) => data.drafts.map(({ id }: Parsed) => named(world, id)),
  },
  { name: 'send the draft', call: ['POST', 'drafts/send', { id: '{draft}' }], keep: 'sent', seen: labelled },
  { name: 'draft is gone', call: ['GET', 'drafts/{draft}'], seen: reason },
  {
    name: 'send',
    call: ['POST', 'messages/send', message({ To: 'ben@gmail.test', Subject: 'Sent' })],
    seen: labelled,
  },
  {
    name: 'send to nobody',
    call: ['POST', 'messages/send', message({ Subject: 'Sent' })],
    seen: reason,
    settled: 'Gmail asks for a recipient.',
  },
  { name: 'delete', call: ['DELETE', 'messages/{files}'], seen: nothing },
  { name: 'delete again', call: ['DELETE', 'messages/{files}'], seen: reason },
  {
    name: 'deleted',
    call: ['GET', 'history?startHistoryId={history}&historyTypes=messageDeleted'],
    seen: (data, world) =>
      data.history.some((record: Parsed) => named(world, record.messagesDeleted[0].message.id) === 'files'),
  },
  {
    name: 'added',
    call: ['GET', 'history?startHistoryId={history}&historyTypes=messageAdded&maxResults=2'],
    seen: (data, world) => [
      data.history.map((record: Parsed) => named(world, record.messagesAdded[0].message.id)),
      typeof data.nextPageToken,
    ],
  },
  { name: 'history without a start', call: ['GET', 'history'], seen: reason },
  {
    name: 'history too old',
    call: ['GET', 'history?startHistoryId=1'],
    seen: reason,
    settled: 'An id that Gmail never gave is 404.',
  },
  { name: 'delete the label', call: ['DELETE', 'labels/{label}'], seen: nothing },
  { name: 'delete INBOX', call: ['DELETE', 'labels/INBOX'], seen: reason },
  {
    name: 'sendAs',
    call: ['GET', 'settings/sendAs'],
    seen: data =>
      data.sendAs.map((alias: Parsed) => [
        alias.sendAsEmail,
        alias.displayName,
        alias.isPrimary,
        alias.isDefault,
      ]),
  },
]

async function take(world: World, { call: [method, path, body], keep, seen }: Step): Promise<unknown> {
  const filled = (text: string): string =>
    text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => world.ids[name] ?? whole)
  const response = await fetch(`${world.origin}/gmail/v1/users/me/${filled(path)}`, {
    method,
    headers: { authorization: `Bearer ${world.token}`, 'content-type': 'application/json' },
    ...(body && { body: filled(JSON.stringify(body)) }),
  })
  const text = await response.text()
  const data: Parsed = text === '' ? {} : JSON.parse(text)
  const [name = '', field = 'id'] = keep?.split(':') ?? []
  if (name) world.ids[name] = field.split('.').reduce((value, part) => value[part], data)
  return [response.ok, response.ok || seen === reason ? seen(data, world) : data]
}

// In order, since each step stands on those before it.
test('agrees with another imitation of Gmail, but for what Google settles', async () => {
  for (const step of STEPS) {
    const [here, there] = [await take(ours, step), await take(theirs, step)]
    if (step.settled === undefined) expect([step.name, here]).toEqual([step.name, there])
    else expect([step.name, here]).not.toEqual([step.name, there])
  }
})
