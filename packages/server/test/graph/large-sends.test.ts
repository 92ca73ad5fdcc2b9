import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { describe, expect, test } from 'vitest'
import { askPython, type PythonMessage } from '../bodies/ask-python.ts'
import { send, waitForEntry } from '../sending/open-sending.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { fileOf } from './attached-file.ts'
import { openGraphClient } from './graph-client.ts'
import { connectGraph, type GraphAccount, openGraphApp } from './open-graph-app.ts'
import { casesFor } from '../soak.ts'

const opened = useServer(() => openGraphApp())
let recipients = 0

/** Another mailbox of the sandbox, in which mail arrives. */
async function openRecipient() {
  const { sandbox } = opened()
  const email = `arrivals-${++recipients}@office.test`
  await sandbox.addUser(email, { messages: 0, provider: 'microsoft' })
  const client = await openGraphClient(sandbox, email)
  return {
    address: { address: email },
    /** The message that arrived, as Python reads it. */
    arrived: (): Promise<PythonMessage> =>
      waitUntil('the message to arrive', async () => {
        const [message] = await client.all('mailFolders/inbox/messages')
        return message ? parse(await client.source(message.id)) : null
      }),
  }
}

const parse = (source: Buffer): PythonMessage => askPython([source])[0]!
const fieldsOf = ({ fields }: PythonMessage) =>
  new Map(fields.map(([name, value]) => [name.toLowerCase(), value]))

const waitForCopy = (entry: OutboxEntry) =>
  waitForEntry(opened().app, entry, 'the copy', ({ status, messageId }) => {
    expect(status).not.toBe('failed')
    return status === 'sent' && messageId !== null
  })

/** Delivers a message, and waits until it is in the index. @returns its id */
async function deliver(account: GraphAccount): Promise<string> {
  const fields = 'Message-ID: <first@example.net>\r\nReferences: <zeroth@example.net>\r\n'
  await opened().sandbox.deliver(
    account.email,
    `From: Grace <grace@example.net>\r\nTo: me@office.test\r\nSubject: First\r\n${fields}\r\nHello\r\n`,
  )
  const message = await waitUntil('the message', async () =>
    (await account.messages()).find(({ subject }) => subject === 'First'),
  )
  return message.id
}

const HEADERS = [
  ...['One', 'Two', 'Three', 'Four', 'Five', 'Six'].map(name => ({ name: `X-${name}`, value: name })),
  { name: 'Auto-Submitted', value: 'auto-generated' },
  { name: 'Feedback-ID', value: 'a:b' },
]
describe('a send by Graph', () => {
  test.each([
    ['whole', []],
    ['with a file beside it', [fileOf('a.pdf', 2_100_000)]],
  ])('%s arrives with every field of its header', async (_, attachments) => {
    const { app } = opened()
    const account = await connectGraph(opened())
    const [to, bcc, listed] = [await openRecipient(), await openRecipient(), await openRecipient()]
    const common = { subject: 'Zahlen für heute', headers: HEADERS, importance: 'high', attachments }
    const inReplyTo = await deliver(account)
    const reply = await send(app, account.accountId, {
      ...common,
      to: [to.address],
      bcc: [bcc.address],
      inReplyTo,
    })
    const news = await send(app, account.accountId, { ...common, to: [listed.address], listId: 'news' })
    for (const entry of [reply, news]) await waitForCopy(entry)
    const own = (entry: OutboxEntry) => ({
      'message-id': entry.internetMessageId,
      subject: 'Zahlen für heute',
      importance: 'high',
      'x-waxwing-outbox': entry.id,
      ...Object.fromEntries(HEADERS.map(({ name, value }) => [name.toLowerCase(), value])),
    })
    const thread = {
      'in-reply-to': '<first@example.net>',
      references: '<zeroth@example.net> <first@example.net>',
    }
    for (const one of [to, bcc]) {
      const fields = fieldsOf(await one.arrived())
      expect(Object.fromEntries(fields)).toMatchObject({ ...own(reply), ...thread })
      expect(fields.has('bcc')).toBe(false)
    }
    const unsubscribing = fieldsOf(await listed.arrived())
    expect(Object.fromEntries(unsubscribing)).toMatchObject({
      ...own(news),
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
    })
    expect(unsubscribing.get('list-unsubscribe')).toMatch(/^<https?:.*>$/)
    // The sender's copy names the hidden recipient.
    const sent = await account.client.all('mailFolders/sentitems/messages')
    const copy = sent.find(({ internetMessageId }) => internetMessageId === reply.internetMessageId)
    expect(parse(await account.client.source(copy.id)).bcc).toEqual([['', bcc.address.address]])
    expect(sent).toHaveLength(2)
  })

  const sizesOfFiles = [
    ['0, 2.9 and 3.1 MB', [0, 2_900_000, 3_100_000]],
    ['25 MB', [25_000_000]],
  ] as const
  test.each(casesFor(sizesOfFiles, ([name]) => name !== '25 MB'))(
    'carries files of %s byte for byte',
    async (_, sizes) => {
      const { app } = opened()
      const account = await connectGraph(opened())
      const to = await openRecipient()
      const attachments = sizes.map(bytes => fileOf(`file-${bytes}.pdf`, bytes))
      const entry = await send(app, account.accountId, { to: [to.address], attachments })
      await waitForCopy(entry)
      expect(await account.client.all('mailFolders/drafts/messages')).toEqual([])
      const { parts } = await to.arrived()
      const files = parts.filter(({ filename }) => filename !== null)
      expect(files.map(({ filename, type }) => [filename, type]).toSorted()).toEqual(
        attachments.map(({ filename, contentType }) => [filename, contentType]).toSorted(),
      )
      for (const { filename, content } of attachments) {
        const file = files.find(one => one.filename === filename)
        const isEqual = Buffer.from(file?.content ?? '', 'base64').equals(Buffer.from(content, 'base64'))
        expect({ filename, isEqual }).toEqual({ filename, isEqual: true })
      }
    },
  )
})
