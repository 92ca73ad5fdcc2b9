import { describe, expect, test } from 'vitest'
import { DAY_MS, type FollowedArrangement, letter, letters, requireMailbox } from './arrangement.ts'
import { describeListing } from './listing.ts'
import { byKey, heldIn, openIndex, partsOf } from './memory-index.ts'
import { describeWatching } from './watching.ts'

/** Contract of every `MailProvider`. `setUp` makes a new account for each test. */
export function describeMail(name: string, setUp: () => Promise<FollowedArrangement>): void {
  describe(`${name}: listMailboxes`, () => {
    test('returns paths, roles and counts, parents before children', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Projects')
      await arranged.world.createMailbox('Projects/Grüße & more')
      await arranged.world.createMailbox('Papierkorb')
      await arranged.world.deliver(letters(3))
      await arranged.world.deliver(letters(1), 'Projects/Grüße & more')
      await using account = await arranged.connect()
      const { mail } = account

      const mailboxes = await mail.listMailboxes()

      expect(requireMailbox(mailboxes, 'INBOX')).toMatchObject({
        role: 'inbox',
        kind: arranged.kind,
        totalCount: 3,
        unreadCount: 3,
      })
      const child = requireMailbox(mailboxes, arranged.world.listedAs('Projects/Grüße & more'))
      expect(child).toMatchObject({ name: 'Grüße & more', role: 'custom', totalCount: 1 })
      const keys = mailboxes.map(({ key }) => key)
      expect(new Set(keys).size).toBe(keys.length)
      for (const { key, parentKey } of mailboxes) {
        if (parentKey !== null)
          expect(keys.indexOf(parentKey)).toSatisfy((at: number) => at >= 0 && at < keys.indexOf(key))
      }
      expect(mailboxes.find(({ key }) => key === child.parentKey)?.path).toBe(
        arranged.world.listedAs('Projects'),
      )
      const trash = mailboxes.filter(({ role }) => role === 'trash')
      expect(trash).toHaveLength(1)
    })

    test('recognises a renamed mailbox, and no other, as the one that was followed', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Before')
      await arranged.world.createMailbox('Other')
      await arranged.world.deliver(letters(2), 'Before')
      await arranged.world.deliver(letters(2), 'Other')
      await using account = await arranged.connect()
      const { mail } = account
      const before = requireMailbox(await mail.listMailboxes(), arranged.world.listedAs('Before'))
      const index = openIndex(before.source)
      await index.follow(mail)

      await arranged.world.renameMailbox('Before', 'After')
      // A server may end the sessions that have a renamed mailbox open.
      await using laterAccount = await arranged.connect()
      const { mail: later } = laterAccount
      const mailboxes = await later.listMailboxes()

      const isSame = (path: string) => {
        const mailbox = requireMailbox(mailboxes, path)
        // A key that is an id lasts.
        return before.key === before.providerId
          ? mailbox.key === before.key
          : later.isRenamed(mailbox, index.cursor!)
      }
      expect(mailboxes.map(({ path }) => path)).not.toContain(arranged.world.listedAs('Before'))
      expect(isSame(arranged.world.listedAs('Other'))).toBe(false)
      expect(isSame('INBOX')).toBe(false)
      expect(isSame(arranged.world.listedAs('After'))).toBe(true)
    })
  })

  describe(`${name}: following a source`, () => {
    test('begins with a reset and yields every message, newest first', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver(letters(5))
      await using account = await arranged.connect()
      const { mail } = account
      const index = openIndex(arranged.inbox)

      expect(mail.isComplete(index.cursor, null)).toBe(false)
      await index.compare(mail)
      expect(index.takeSteps().map(({ type }) => type)).toEqual(['reset'])
      expect(mail.isComplete(index.cursor, null)).toBe(false)
      await index.bring(mail)

      expect([...index.messages.keys()]).toEqual(keys.toReversed())
      expect(index.steps.every(step => step.type === 'arrived' && step.origin === 'missing')).toBe(true)
      expect(mail.isComplete(index.cursor, null)).toBe(true)
      const first = index.messages.get(keys[0]!)
      expect(first).toMatchObject({
        subject: 'Letter 1',
        internetMessageId: '<letter-1@example.com>',
        from: { name: 'Ada Lovelace', address: 'ada@example.com' },
        to: [{ name: null, address: 'bob@example.com' }],
        snippet: 'Dear Bob, 1',
        isRead: false,
        hasAttachments: false,
        sentAt: new Date('2024-01-01T10:00:00Z'),
      })
      expect(first?.size).toBe(Buffer.byteLength(letter(1)))
    })

    test('can be broken off after any step and taken up by another connection', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver(letters(arranged.messagesOfSteps))
      const index = openIndex(arranged.inbox)

      let connections = 0
      for (let isDone = false; !isDone && connections < 20; connections++) {
        await using account = await arranged.connect()
        const { mail } = account
        await index.compare(mail)
        isDone = await index.bring(mail, 1)
        if (connections === 1) await arranged.world.deliver(letters(1, 5000)).then(more => keys.push(...more))
      }

      expect(connections).toBeGreaterThan(3)
      expect(index.keys()).toEqual(keys.toSorted(byKey))
    })

    test('reports nothing if nothing happened', async () => {
      await using arranged = await setUp()
      await arranged.world.deliver(letters(3))
      await using account = await arranged.connect()
      const { mail } = account
      await mail.listMailboxes()
      const index = openIndex(arranged.inbox)
      await index.follow(mail)
      const quiet = async () =>
        !mail.hasChanged(requireMailbox(await mail.listMailboxes(), 'INBOX'), index.cursor)
      await index.compare(mail)
      index.takeSteps()

      expect(await quiet()).toBe(true)
      await index.follow(mail)

      expect(index.takeSteps()).toEqual([])
    })

    test('yields new mail in the order of its arrival', async () => {
      await using arranged = await setUp()
      await arranged.world.deliver(letters(2))
      await using account = await arranged.connect()
      const { mail } = account
      const index = openIndex(arranged.inbox)
      await index.follow(mail)
      index.takeSteps()

      const keys = await arranged.world.deliver(letters(3, 10))
      expect(mail.hasChanged(requireMailbox(await mail.listMailboxes(), 'INBOX'), index.cursor)).toBe(true)
      await index.follow(mail)

      const arrived = partsOf(index.takeSteps()).filter(step => step.type === 'arrived')
      expect(arrived.flatMap(({ messages }) => messages.map(({ key }) => key))).toEqual(keys)
      expect(arrived.map(({ origin }) => origin)).toEqual(['new'])
    })

    test('reports flags and categories that another client changed', async () => {
      await using arranged = await setUp()
      const [one, two, three, four] = await arranged.world.deliver(letters(4))
      await using account = await arranged.connect()
      const { mail } = account
      const index = openIndex(arranged.inbox)
      await index.follow(mail)
      await using laterAccount = await arranged.connect({ clockAheadMs: 10 * 60_000 })
      const { mail: later } = laterAccount

      const { category } = arranged
      // No client can label a message as a draft.
      const isDraft = arranged.kind === 'folder'
      await arranged.world.flag('INBOX', [one!], '\\Seen')
      await arranged.world.flag('INBOX', [two!], '\\Flagged', ...(isDraft ? ['\\Draft'] : []))
      await arranged.world.flag('INBOX', [three!], category)
      expect(later.hasChanged(requireMailbox(await later.listMailboxes(), 'INBOX'), index.cursor)).toBe(true)
      await index.follow(later)

      expect(
        [one!, two!, three!, four!]
          .map(key => index.messages.get(key))
          .map(message => [message?.isRead, message?.isFlagged, message?.isDraft, message?.categories]),
      ).toEqual([
        [true, false, false, []],
        [false, true, isDraft, []],
        [false, false, false, [category]],
        [false, false, false, []],
      ])
    })

    test('reports which messages are gone, even if as many arrived', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver(letters(6))
      await using account = await arranged.connect()
      const { mail } = account
      const index = openIndex(arranged.inbox)
      await index.follow(mail)
      index.takeSteps()

      await arranged.world.expunge('INBOX', [keys[0]!, keys[3]!, keys[5]!])
      const more = await arranged.world.deliver(letters(3, 20))
      expect(mail.hasChanged(requireMailbox(await mail.listMailboxes(), 'INBOX'), index.cursor)).toBe(true)
      await index.follow(mail)

      const gone = partsOf(index.takeSteps()).flatMap(step => (step.type === 'gone' ? step.keys : []))
      expect(gone.toSorted(byKey)).toEqual([keys[0]!, keys[3]!, keys[5]!].toSorted(byKey))
      expect(index.keys()).toEqual([keys[1]!, keys[2]!, keys[4]!, ...more].toSorted(byKey))
      const at = { source: arranged.inbox, cursor: index.cursor }
      const { mailboxKeys } = index.messages.get(keys[1]!)!
      await arranged.world.flag('INBOX', [keys[1]!], '\\Seen', arranged.category)
      const flags = { isRead: true, isFlagged: false, isDraft: false, categories: [arranged.category] }
      const { drafts = [], ...located } = await mail.locate(at, [keys[0]!, keys[1]!])
      expect(located).toEqual({
        found: new Map([[keys[1], { flags, mailboxKeys }]]),
        gone: [keys[0]],
        unreadable: [],
      })
      expect(drafts).toEqual([])
    })

    test('tolerates a message that came and went unseen', async () => {
      await using arranged = await setUp()
      await arranged.world.deliver(letters(2))
      await using account = await arranged.connect()
      const { mail } = account
      const index = openIndex(arranged.inbox)
      await mail.listMailboxes()
      await index.follow(mail)

      const brief = await arranged.world.deliver(letters(1, 30))
      await arranged.world.expunge('INBOX', brief)
      await index.follow(mail)
      await index.follow(mail)

      expect(index.messages.size).toBe(2)
      const inbox = requireMailbox(await mail.listMailboxes(), 'INBOX')
      expect(mail.hasChanged(inbox, index.cursor)).toBe(false)
    })

    test('yields a moved message under the same identity', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Kept')
      const [key] = await arranged.world.deliver(letters(2))
      await using account = await arranged.connect()
      const { mail } = account
      const mailboxes = await mail.listMailboxes()
      const [from, to] = ['INBOX', arranged.world.listedAs('Kept')].map(path =>
        requireMailbox(mailboxes, path),
      )
      const [inbox, kept] = [openIndex(from!.source), openIndex(to!.source)]
      await inbox.follow(mail)
      await kept.follow(mail)
      const { identity } = inbox.messages.get(key!)!

      await arranged.world.move('INBOX', [key!], 'Kept')
      await inbox.follow(mail)
      await kept.follow(mail)

      expect(heldIn(kept, to!.key).map(message => message.identity)).toEqual([identity])
      const left = heldIn(inbox, from!.key)
      expect(left).toHaveLength(1)
      expect(left[0]?.identity).not.toBe(identity)
    })

    test('respects the window, and yields the additions of a wider one as widened', async () => {
      await using arranged = await setUp()
      const now = Date.now()
      const ages = [100, 50, 20, 3, 40, 1]
      const keys = await arranged.world.deliver(
        ages.map((days, number) => ({ raw: letter(number), internalDate: new Date(now - days * DAY_MS) })),
      )
      await using account = await arranged.connect()
      const { mail } = account
      const index = openIndex(arranged.inbox)
      index.since = new Date(now - 30 * DAY_MS)
      await index.follow(mail)
      expect(index.keys()).toEqual([keys[2]!, keys[3]!, keys[5]!].toSorted(byKey))
      expect(mail.isComplete(index.cursor, new Date(now - 20 * DAY_MS))).toBe(true)

      index.since = new Date(now - 60 * DAY_MS)
      expect(mail.isComplete(index.cursor, index.since)).toBe(false)
      index.takeSteps()
      await index.follow(mail)

      expect(mail.isComplete(index.cursor, index.since)).toBe(true)
      expect(index.keys()).toEqual(keys.slice(1).toSorted(byKey))
      const origins = index
        .takeSteps()
        .flatMap(step => (step.type === 'arrived' && step.messages.length > 0 ? [step.origin] : []))
      expect(new Set(origins)).toEqual(new Set(['widened']))
      index.since = null
      await index.follow(mail)
      expect(index.keys()).toEqual(keys.toSorted(byKey))
    })
  })

  describeListing(name, setUp)
  describeWatching(name, setUp)
}
