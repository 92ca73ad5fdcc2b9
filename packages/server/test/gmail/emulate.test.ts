import { describe, expect, test } from 'vitest'
import { Secret } from '../../src/kit/secret.ts'
import type { NewMessage } from '../../src/providers/changing.ts'
import { letter } from '../../src/providers/conformance/arrangement.ts'
import { all } from '../../src/providers/conformance/changing-steps.ts'
import { listAll } from '../../src/providers/conformance/listing.ts'
import { heldIn, openIndex } from '../../src/providers/conformance/memory-index.ts'
import { DRAFT_FIELD, draftMark } from '../../src/providers/draft-mark.ts'
import { gmailAccount } from '../../src/providers/gmail/account.ts'
import { SOURCE } from '../../src/providers/gmail/labels.ts'
import { startEmulate } from '../servers/emulate.ts'
import { useServer } from '../servers/shared-server.ts'
import { gmailClientAt } from './gmail-client.ts'
import { boundless, callsTo } from './reach-sandbox.ts'

/*
 * The adapter on another imitation of Gmail, so that the sandbox is not the only one that it works with. That
 * imitation has no expiry, quotas, scopes, searches by Message-ID, changed drafts in the history, and fields of the
 * header but ten.
 */

const USERS = Array.from({ length: 8 }, (_, index) => `user-${index}@gmail.test`)
const emulated = useServer(() => startEmulate(USERS))
let used = 0

/** The adapter as a user, beside another client of the mailbox. */
function open() {
  const email = USERS[used++]!
  const server = emulated()
  const calls = callsTo(server)
  const token = new Secret(email)
  const account = gmailAccount({
    calls,
    tokens: { get: () => Promise.resolve(token), renew: () => Promise.resolve(token) },
    quota: boundless.userOf('tests', email),
    signal: new AbortController().signal,
    pollSeconds: 0.1,
  })
  return {
    ...account,
    client: gmailClientAt(server.origin, email),
    [Symbol.asyncDispose]: async () => {
      await account[Symbol.asyncDispose]()
      await calls[Symbol.asyncDispose]()
    },
  }
}

type Opened = ReturnType<typeof open>

/** Delivers letters that came one after the other. */
async function deliver({ client }: Opened, count: number, labels: readonly string[] = ['INBOX', 'UNREAD']) {
  const keys: string[] = []
  for (let number = 1; number <= count; number++) {
    const raw = letter(number).replace('10:00:00', `10:00:${String(number % 60).padStart(2, '0')}`)
    keys.push((await client.insert(raw, labels)).id)
  }
  return keys
}

async function labelsOf({ client }: Opened, key: unknown): Promise<string[] | undefined> {
  return (await client.messages()).find(({ id }) => id === key)?.labelIds.toSorted()
}

const setOf = (...keys: string[]) => ({ source: SOURCE, cursor: null, keys })

function messageOf(raw: string, change: Partial<NewMessage> = {}): NewMessage {
  return {
    internetMessageId: '<letter-1@example.com>',
    byteLength: Buffer.byteLength(raw),
    async *open() {
      yield Buffer.from(raw)
    },
    flags: { isRead: true, isFlagged: false, isDraft: false, categories: [] },
    receivedAt: null,
    threadId: null,
    ...change,
  }
}

describe('the adapter on another imitation of Gmail', () => {
  test('lists labels, and creates, renames and deletes them', async () => {
    await using account = open()
    const { mail, changing, client } = account
    const made = await changing.createMailbox({ parentKey: null, name: 'Größer', mayExist: false })
    const below = await changing.createMailbox({ parentKey: made.key, name: 'Below', mayExist: false })
    await deliver(account, 2, [below.key, 'UNREAD'])
    const listed = await mail.listMailboxes()
    expect(listed.find(({ key }) => key === below.key)).toMatchObject({
      path: 'Größer/Below',
      parentKey: made.key,
      totalCount: 2,
      unreadCount: 2,
    })
    expect(listed.map(({ role }) => role)).toEqual(
      expect.arrayContaining(['inbox', 'sent', 'drafts', 'trash', 'junk', 'important', 'all']),
    )
    const twice = changing.createMailbox({ parentKey: null, name: 'größer', mayExist: false })
    await expect(twice).rejects.toMatchObject({ kind: 'conflict' })
    const renamed = await changing.renameMailbox(made.key, { name: 'Renamed' })
    expect(renamed.map(({ mailbox }) => mailbox.path)).toEqual(['Renamed', 'Renamed/Below'])
    await changing.deleteMailbox(made.key)
    const left = (await client.labels()).filter(({ type }) => type === 'user')
    expect(left).toMatchObject([{ id: below.key, name: 'Renamed/Below' }])
    expect(await client.messages()).toHaveLength(2)
  })

  test('brings every message with its labels, and pages through them', async () => {
    await using account = open()
    const { mail } = account
    const keys = await deliver(account, 120)
    const [trashed] = await deliver(account, 1, ['TRASH', 'STARRED'])
    await mail.listMailboxes()
    const index = openIndex(SOURCE)
    await index.follow(mail)
    expect(index.messages.get(keys[4]!)).toMatchObject({
      subject: 'Letter 5',
      internetMessageId: '<letter-5@example.com>',
      snippet: 'Dear Bob, 5',
      mailboxKeys: ['INBOX', 'ALL_MAIL'],
      isRead: false,
    })
    expect(index.messages.get(trashed!)).toMatchObject({ mailboxKeys: ['TRASH'], isFlagged: true })
    expect(index.keys()).toEqual([...keys, trashed].toSorted())
    expect(mail.isComplete(index.cursor, null)).toBe(true)
    const listed = await listAll(mail, { source: SOURCE, cursor: index.cursor })
    expect(listed.map(({ key }) => key).toSorted()).toEqual(index.keys())
  })

  test('follows the history', async () => {
    await using account = open()
    const { mail, client } = account
    const keys = await deliver(account, 5)
    const label = await client.createLabel('Label')
    await mail.listMailboxes()
    const index = openIndex(SOURCE)
    await index.follow(mail)
    const watching = mail.watch(SOURCE, 20, new AbortController().signal)
    const { id } = await client.insert(letter(6), ['INBOX', 'UNREAD'])
    expect(await watching).toMatchObject({ arrived: true })
    await client.modify(keys[0]!, { add: ['STARRED', label], remove: ['UNREAD', 'INBOX'] })
    await client.delete(keys[1]!)
    await index.follow(mail)
    expect(index.keys()).toEqual([keys[0], ...keys.slice(2), id].toSorted())
    expect(index.messages.get(keys[0]!)).toMatchObject({ isRead: true, isFlagged: true })
    expect(heldIn(index, label).map(({ key }) => key)).toEqual([keys[0]])
    const [mailbox] = await mail.listMailboxes()
    expect(mail.hasChanged(mailbox!, index.cursor)).toBe(false)
  })

  test('reads sources and parts', async () => {
    await using account = open()
    const { content, client } = account
    const head = letter(1, 'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n')
    const raw = `${head.slice(0, head.indexOf('\r\n\r\n'))}\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\nText\r\n--x\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename="a.pdf"\r\nContent-Transfer-Encoding: base64\r\n\r\nUERG\r\n--x--\r\n`
    const { id } = await client.insert(raw, ['INBOX'])
    const read = async (part: string | null) => {
      const range = { part, isHeader: false, offset: 0, end: null, size: null }
      const pieces: Buffer[] = []
      for await (const piece of content.open({ source: SOURCE, cursor: null, key: id }, range))
        pieces.push(piece)
      return Buffer.concat(pieces).toString()
    }
    expect(await read(null)).toBe(raw)
    expect(await read('2')).toBe('PDF')
    const sources = await content.readSources({ source: SOURCE, cursor: null, keys: [id, 'none'] }, 10_000)
    expect([...sources].map(([key, source]) => [key, source.toString()])).toEqual([[id, raw]])
  })

  test('changes flags, labels and mailboxes, and removes messages', async () => {
    await using account = open()
    const { changing, client } = account
    const [one, two] = (await deliver(account, 2)) as [string, string]
    const label = await client.createLabel('Label')
    const flags = { isRead: true, isFlagged: true, addCategories: ['social'] }
    const [flagged] = await all(changing.changeFlags(setOf(one, two, 'none'), flags))
    expect(flagged?.gone).toEqual(['none'])
    expect(flagged?.changed.map(({ flags: { isRead, categories } }) => [isRead, categories])).toEqual([
      [true, ['social']],
      [true, ['social']],
    ])
    expect(await labelsOf(account, one)).toEqual(['CATEGORY_SOCIAL', 'INBOX', 'STARRED'])
    await all(changing.changeLabels(setOf(one), { add: [label], remove: ['INBOX'] }))
    expect(await labelsOf(account, one)).toEqual(['CATEGORY_SOCIAL', 'STARRED', label].toSorted())
    await all(changing.move(setOf(one), 'TRASH'))
    expect(await labelsOf(account, one)).toEqual(['CATEGORY_SOCIAL', 'STARRED', 'TRASH'])
    expect(await all(changing.remove(setOf(one)))).toEqual([{ removed: [one], gone: [] }])
    expect((await client.messages()).map(({ id }) => id)).toEqual([two])
  })

  test('writes drafts under one id', async () => {
    await using account = open()
    const { changing, client } = account
    const mark = { draftId: '0195d3c5-0000-7000-8000-000000000001', generation: 1 }
    const draft = (number: number) => ({
      mailboxKey: 'DRAFT',
      mark,
      message: messageOf(letter(number, `${DRAFT_FIELD}: ${draftMark(mark)}\r\n`)),
    })
    const added = await changing.addDraft(draft(1), false)
    expect(added).toMatchObject({
      draftKey: expect.any(String),
      message: { isDraft: true, subject: 'Letter 1' },
    })
    expect(await client.drafts()).toEqual([added.draftKey])
    const { draftKey, location } = added
    const former = { source: SOURCE, cursor: null, key: location!.key }
    const known = { mailboxKey: 'DRAFT', draftKey, former, internetMessageId: null, others: [], copies: [] }
    const replaced = await changing.replaceDraft({ ...draft(2), ...known })
    // Google: the message within a draft is replaced by another one; this imitation changes it in place.
    expect(replaced).toMatchObject({
      type: 'replaced',
      added: { draftKey, message: { subject: 'Letter 2' } },
    })
    expect(await client.drafts()).toEqual([draftKey])
    const [found] = await changing.findDraft(known, ['Subject'])
    expect(found?.fields.get('Subject')).toBe('Letter 2')
    await changing.removeDraft(known)
    await changing.removeDraft(known)
    expect(await client.drafts()).toEqual([])
    expect(await changing.findDraft(known, [])).toEqual([])
  })

  test('uploads a message byte for byte', async () => {
    await using account = open()
    const { changing, client } = account
    const raw = letter(1, 'Content-Type: text/plain; charset=utf-8\r\n').replace('Bob', 'Jürgen')
    const flags = { isRead: false, isFlagged: true, isDraft: false, categories: ['updates'] }
    const { location } = await changing.addMessage('INBOX', messageOf(raw, { flags }))
    const key = String(location!.key)
    expect(await client.rawOf(key)).toBe(raw)
    expect(await labelsOf(account, key)).toEqual(['CATEGORY_UPDATES', 'INBOX', 'STARRED', 'UNREAD'])
  })
})
