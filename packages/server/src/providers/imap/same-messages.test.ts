import { describe, expect, test } from 'vitest'
import { openProxiedMailbox } from '../../../test/changing/proxied-mailbox.ts'
import { startDovecot } from '../../../test/servers/dovecot.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { identityOf } from '../../kit/mime/identity.ts'
import type { MessageSet } from '../changing.ts'
import { letter, letters } from '../conformance/arrangement.ts'
import { all, failureOf } from '../conformance/changing-steps.ts'
import type { KnownMessage, MessageKey } from '../mail.ts'
import { readCursor } from './cursor.ts'

const server = useServer(() => startDovecot())
const WHOLE = { part: null, isHeader: false, offset: 0, end: null, size: null }

const idOf = (number: number) => /^Message-ID: (.*)$/im.exec(letter(number))![1]!.trim()

function knownAs(number: number, isSuspect = false): KnownMessage {
  return {
    internetMessageId: idOf(number),
    identity: '00000000-0000-0000-0000-000000000000',
    subject: null,
    sentAtMs: null,
    isSuspect,
  }
}

/** An inbox with letters, and the number of headers that were fetched. */
async function openLetters(count: number) {
  const arranged = await openProxiedMailbox(server())
  const uids = await arranged.world.deliver(letters(count))
  const at = async (known: ReadonlyMap<MessageKey, KnownMessage>): Promise<MessageSet> => ({
    ...(await arranged.inInbox([...known.keys()].map(Number))),
    known,
  })
  const asked = () => arranged.proxy.stats.lines.filter(line => /^UID FETCH.*MESSAGE-ID/.test(line)).length
  return { ...arranged, uids, at, asked }
}

describe('before messages are marked', () => {
  test('a mailbox that was opened for this takes one check', async () => {
    await using inbox = await openLetters(3)
    const { uids, at, asked, world } = inbox
    await using account = await inbox.connect()
    const mark = async (number: number, uid: number) =>
      all(account.changing.changeFlags(await at(new Map([[uid, knownAs(number)]])), { isRead: true }))
    await mark(3, uids[2]!)
    expect(asked()).toBe(1)
    await mark(1, uids[0]!)
    const [later] = await world.deliver({ raw: letter(4) })
    await mark(4, later!)
    expect(asked()).toBe(1)
  })

  test.each<[string, boolean, number]>([
    ['whose numbers are under suspicion', true, 1],
    ['that is behind its cursor', false, 1_000],
  ])('checks each message of a mailbox %s', async (_, isSuspect, uidNext) => {
    await using inbox = await openLetters(2)
    await using account = await inbox.connect()
    for (const number of [2, 1]) {
      const set = await inbox.at(new Map([[inbox.uids[number - 1]!, knownAs(number, isSuspect)]]))
      const cursor = { ...readCursor(set.cursor)!, uidNext }
      await all(account.changing.changeFlags({ ...set, cursor }, { isRead: true }))
    }
    expect(inbox.asked()).toBe(2)
  })
})

describe('a message of another Message-ID than in the index', () => {
  test.each(['flags', 'move', 'move without MOVE', 'remove'] as const)(
    'is left alone by a change: %s',
    async change => {
      await using inbox = await openLetters(3)
      if (change === 'move without MOVE') inbox.proxy.faults = { hiddenCapabilities: ['MOVE'] }
      await inbox.world.createMailbox('Kept')
      await using account = await inbox.connect()
      const [first, second, third] = inbox.uids as [number, number, number]
      const set = await inbox.at(
        new Map([
          [first, knownAs(1)],
          [second, knownAs(9)],
          [third, knownAs(3)],
        ]),
      )
      const { changing } = account
      const batches =
        change === 'flags'
          ? await all(changing.changeFlags(set, { isFlagged: true }))
          : change === 'remove'
            ? await all(changing.remove(set))
            : await all(changing.move(set, 'Kept'))
      expect(batches.flatMap(({ others = [] }) => others)).toEqual([second])
      expect(batches.flatMap(({ gone }) => gone)).toEqual([])
      if (change === 'flags') {
        const [found] = await changing.find('INBOX', idOf(2))
        expect(found?.flags.isFlagged).toBe(false)
      } else expect(await inbox.raws('INBOX')).toEqual([letter(2)])
    },
  )

  test('is not removed as a draft', async () => {
    await using inbox = await openLetters(1)
    await using account = await inbox.connect()
    const { source, cursor } = await inbox.inInbox([])
    const former = { source, cursor, key: inbox.uids[0]!, known: knownAs(9) }
    const draft = { mailboxKey: 'INBOX', draftKey: null, internetMessageId: null, others: [] }
    await account.changing.removeDraft({ ...draft, former })
    expect(await inbox.raws('INBOX')).toEqual([letter(1)])
    await account.changing.removeDraft({ ...draft, former: { ...former, known: knownAs(1) } })
    expect(await inbox.raws('INBOX')).toEqual([])
  })

  test.each([
    ['from its beginning', {}],
    ['from the middle', { offset: 20 }],
    ['in part', { part: '1' }],
  ])('is not read %s', async (_, range) => {
    await using inbox = await openLetters(1)
    await using account = await inbox.connect()
    const { source, cursor } = await inbox.inInbox([])
    const at = { source, cursor, key: inbox.uids[0]! }
    const read = (known: KnownMessage) =>
      Array.fromAsync(account.content.open({ ...at, known }, { ...WHOLE, ...range }))
    expect(await failureOf(read(knownAs(9)))).toMatchObject({ kind: 'not_found', isOther: true })
    expect(Buffer.concat(await read(knownAs(1))).length).toBeGreaterThan(0)
  })

  test('is left out of a joint read', async () => {
    await using inbox = await openLetters(3)
    await using account = await inbox.connect()
    const [first, second, third] = inbox.uids as [number, number, number]
    const set = await inbox.at(
      new Map([
        [first, knownAs(1)],
        [second, knownAs(9)],
        [third, knownAs(3)],
      ]),
    )
    const sources = await account.content.readSources(set, 1_000_000)
    expect([...sources.keys()].toSorted()).toEqual([first, third])
  })
})

test.each(['flags', 'move', 'move to where it is', 'move without MOVE', 'remove'] as const)(
  'a message that the server does not give is left alone by a change of others: %s',
  async change => {
    await using inbox = await openLetters(3)
    await inbox.world.createMailbox('Kept')
    const [first, second, third] = inbox.uids as [number, number, number]
    inbox.proxy.faults = {
      poison: { uids: [second], does: 'refuse' },
      hiddenCapabilities: change === 'move without MOVE' ? ['MOVE'] : [],
    }
    await using account = await inbox.connect()
    const known = new Map(inbox.uids.map((uid, at) => [uid, knownAs(at + 1, true)]))
    const set = await inbox.at(known)
    const { changing } = account
    const done: MessageKey[] = []
    const work = async () => {
      if (change === 'flags')
        for await (const { changed } of changing.changeFlags(set, { isRead: true }))
          done.push(...changed.map(({ key }) => key))
      else if (change === 'remove')
        for await (const { removed } of changing.remove(set)) done.push(...removed)
      else
        for await (const { moved } of changing.move(set, change === 'move to where it is' ? 'INBOX' : 'Kept'))
          done.push(...moved.map(({ key }) => key))
    }
    expect(await failureOf(work())).toMatchObject({ kind: 'unavailable' })
    expect(done.toSorted()).toEqual([first, third])
    inbox.proxy.faults = {}
    const left = change === 'flags' || change === 'move to where it is' ? [1, 2, 3] : [2]
    expect(await inbox.raws('INBOX')).toEqual(left.map(number => letter(number)))
  },
)

describe('a message without a Message-ID', () => {
  const date = 'Thu, 01 Jan 2026 10:00:00 +0000'
  const raw = `From: Ada <ada@a.test>\r\nTo: you@b.test\r\nDate: ${date}\r\nSubject: nameless\r\n\r\nHello\r\n`
  const receivedAt = new Date(Date.UTC(2026, 0, 1))
  const facts = {
    internetMessageId: null,
    from: { address: 'ada@a.test' },
    subject: 'nameless',
    sentAt: new Date(date),
    size: raw.length,
    receivedAt,
  }

  test.each([
    ['the same', facts, true],
    ['of another subject', { ...facts, subject: 'other' }, false],
    ['without a subject', { ...facts, subject: null }, false],
    ['sent at another time', { ...facts, sentAt: new Date(0) }, false],
    ['sent at no time', { ...facts, sentAt: null }, false],
    ['of another size', { ...facts, size: raw.length + 1 }, true],
    ['of an author who is read in another way', { ...facts, from: { address: 'Ada' } }, true],
    ['that arrived at another time', { ...facts, receivedAt: new Date(Date.UTC(2026, 0, 2)) }, true],
    ['known by a Message-ID', { ...facts, internetMessageId: '<9@a.test>' }, false],
  ])('is recognised by its subject and date: %s', async (_, indexed, isSame) => {
    await using inbox = await openLetters(0)
    const [uid] = await inbox.world.deliver({ raw, internalDate: receivedAt })
    await using account = await inbox.connect()
    const { internetMessageId, subject, sentAt } = indexed
    const sentAtMs = sentAt?.getTime() ?? null
    const known = { internetMessageId, identity: identityOf(indexed), subject, sentAtMs, isSuspect: false }
    const set = await inbox.at(new Map([[uid!, known]]))
    expect(await account.mail.findOthers!(set, new Map([[uid!, known]]))).toEqual(isSame ? [] : [uid])
  })
})
