import { describe, expect, test } from 'vitest'
import { ProviderFailure } from '../failure.ts'
import { DAY_MS, letter, letters, type Arrangement, requireMailbox } from './arrangement.ts'
import { describeWatching } from './watching.ts'
import { openIndex } from './memory-index.ts'

/** What the engine may rely on in every `MailProvider`. `setUp` makes a new account for each test. */
export function describeMail(name: string, setUp: () => Promise<Arrangement<'mail'>>): void {
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
        kind: 'folder',
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
      const index = openIndex(
        requireMailbox(await mail.listMailboxes(), arranged.world.listedAs('Before')).source,
      )
      await index.follow(mail)

      await arranged.world.renameMailbox('Before', 'After')
      // A server may end the sessions that have a renamed mailbox open.
      await using laterAccount = await arranged.connect()
      const { mail: later } = laterAccount
      const mailboxes = await later.listMailboxes()

      expect(mailboxes.map(({ path }) => path)).not.toContain(arranged.world.listedAs('Before'))
      expect(
        mail.isRenamed(requireMailbox(mailboxes, arranged.world.listedAs('Other')), index.cursor ?? {}),
      ).toBe(false)
      expect(later.isRenamed(requireMailbox(mailboxes, 'INBOX'), index.cursor ?? {})).toBe(false)
      expect(
        mail.isRenamed(requireMailbox(mailboxes, arranged.world.listedAs('After')), index.cursor ?? {}),
      ).toBe(true)
    })
  })

  describe(`${name}: following a source`, () => {
    test('begins with a reset and yields every message, newest first', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver(letters(5))
      await using account = await arranged.connect()
      const { mail } = account
      const index = openIndex('INBOX')

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
      const keys = await arranged.world.deliver(letters(1100))
      const index = openIndex('INBOX')

      let connections = 0
      for (let isDone = false; !isDone && connections < 20; connections++) {
        await using account = await arranged.connect()
        const { mail } = account
        await index.compare(mail)
        isDone = await index.bring(mail, 1)
        if (connections === 1) await arranged.world.deliver(letters(1, 5000)).then(more => keys.push(...more))
      }

      expect(connections).toBeGreaterThan(3)
      expect(index.keys()).toEqual(keys)
    })

    test('reports nothing if nothing happened', async () => {
      await using arranged = await setUp()
      await arranged.world.deliver(letters(3))
      await using account = await arranged.connect()
      const { mail } = account
      await mail.listMailboxes()
      const index = openIndex('INBOX')
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
      const index = openIndex('INBOX')
      await index.follow(mail)
      index.takeSteps()

      const keys = await arranged.world.deliver(letters(3, 10))
      expect(mail.hasChanged(requireMailbox(await mail.listMailboxes(), 'INBOX'), index.cursor)).toBe(true)
      await index.follow(mail)

      const arrived = index.takeSteps().filter(step => step.type === 'arrived')
      expect(arrived.flatMap(({ messages }) => messages.map(({ key }) => key))).toEqual(keys)
      expect(arrived.map(({ origin }) => origin)).toEqual(['new'])
    })

    test('reports flags and categories that another client changed', async () => {
      await using arranged = await setUp()
      const [one, two, three] = await arranged.world.deliver(letters(4))
      await using account = await arranged.connect()
      const { mail } = account
      const index = openIndex('INBOX')
      await index.follow(mail)
      await using laterAccount = await arranged.connect({ clockAheadMs: 10 * 60_000 })
      const { mail: later } = laterAccount

      await arranged.world.flag('INBOX', [one!], '\\Seen')
      await arranged.world.flag('INBOX', [two!], '\\Flagged', '\\Draft')
      await arranged.world.flag('INBOX', [three!], 'work')
      expect(later.hasChanged(requireMailbox(await later.listMailboxes(), 'INBOX'), index.cursor)).toBe(true)
      await index.follow(later)

      expect(
        index
          .keys()
          .map(key => index.messages.get(key))
          .map(message => [message?.isRead, message?.isFlagged, message?.isDraft, message?.categories]),
      ).toEqual([
        [true, false, false, []],
        [false, true, true, []],
        [false, false, false, ['work']],
        [false, false, false, []],
      ])
    })

    test('reports which messages are gone, even if as many arrived', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver(letters(6))
      await using account = await arranged.connect()
      const { mail } = account
      const index = openIndex('INBOX')
      await index.follow(mail)
      index.takeSteps()

      await arranged.world.expunge('INBOX', [keys[0]!, keys[3]!, keys[5]!])
      const more = await arranged.world.deliver(letters(3, 20))
      expect(mail.hasChanged(requireMailbox(await mail.listMailboxes(), 'INBOX'), index.cursor)).toBe(true)
      await index.follow(mail)

      const gone = index.takeSteps().flatMap(step => (step.type === 'gone' ? step.keys : []))
      expect(gone).toEqual([keys[0], keys[3], keys[5]])
      expect(index.keys()).toEqual([keys[1], keys[2], keys[4], ...more])
      const at = { source: 'INBOX', cursor: index.cursor }
      await arranged.world.flag('INBOX', [keys[1]!], '\\Seen', 'urgent')
      const flags = { isRead: true, isFlagged: false, isDraft: false, categories: ['urgent'] }
      expect(await mail.locate(at, [keys[0]!, keys[1]!])).toEqual(
        new Map([[keys[1], { flags, mailboxKeys: ['INBOX'] }]]),
      )
    })

    test('tolerates a message that came and went unseen', async () => {
      await using arranged = await setUp()
      await arranged.world.deliver(letters(2))
      await using account = await arranged.connect()
      const { mail } = account
      const index = openIndex('INBOX')
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
      const kept = openIndex(
        requireMailbox(await mail.listMailboxes(), arranged.world.listedAs('Kept')).source,
      )
      const inbox = openIndex('INBOX')
      await inbox.follow(mail)
      await kept.follow(mail)
      const { identity } = inbox.messages.get(key!)!

      await arranged.world.move('INBOX', [key!], 'Kept')
      await inbox.follow(mail)
      await kept.follow(mail)

      expect(inbox.messages.has(key!)).toBe(false)
      expect([...kept.messages.values()].map(message => message.identity)).toEqual([identity])
      expect(new Set([...inbox.messages.values()].map(message => message.identity))).not.toContain(identity)
    })

    test('starts again with the same identities if the provider renumbered', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Numbers')
      const keys = await arranged.world.deliver(letters(4), 'Numbers')
      await using account = await arranged.connect()
      const { mail } = account
      const { source } = requireMailbox(await mail.listMailboxes(), arranged.world.listedAs('Numbers'))
      const index = openIndex(source)
      await index.follow(mail)
      const before = [...index.messages.values()].map(({ identity }) => identity).toSorted()
      const old = index.cursor

      await arranged.world.renumber('Numbers')
      await using otherAccount = await arranged.connect()
      const { mail: other } = otherAccount
      expect(await other.locate({ source, cursor: old }, keys)).toEqual(new Map())
      await expect(index.bring(other)).rejects.toThrow(ProviderFailure)
      index.takeSteps()
      await index.follow(other)

      expect(index.steps[0]?.type).toBe('reset')
      expect([...index.messages.values()].map(({ identity }) => identity).toSorted()).toEqual(before)
    })

    test('fails with not_found if the mailbox is gone, and continues with others', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Doomed')
      await arranged.world.deliver(letters(2), 'Doomed')
      await using account = await arranged.connect()
      const { mail } = account
      const doomed = openIndex(
        requireMailbox(await mail.listMailboxes(), arranged.world.listedAs('Doomed')).source,
      )
      await doomed.follow(mail)

      await arranged.world.deleteMailbox('Doomed')

      // A server may say goodbye to those who have a mailbox open that is deleted.
      if ((await failureOf(doomed.compare(mail))) === 'unavailable') {
        await using againAccount = await arranged.connect()
        const { mail: again } = againAccount
        expect(await failureOf(doomed.compare(again))).toBe('not_found')
        await openIndex('INBOX').follow(again)
      } else {
        expect(await failureOf(doomed.compare(mail))).toBe('not_found')
        await openIndex('INBOX').follow(mail)
      }
    })

    test('respects the window, and yields what a wider one adds as widened', async () => {
      await using arranged = await setUp()
      const now = Date.now()
      const ages = [100, 50, 20, 3, 40, 1]
      const keys = await arranged.world.deliver(
        ages.map((days, number) => ({ raw: letter(number), internalDate: new Date(now - days * DAY_MS) })),
      )
      await using account = await arranged.connect()
      const { mail } = account
      const index = openIndex('INBOX')
      index.since = new Date(now - 30 * DAY_MS)
      await index.follow(mail)
      expect(index.keys()).toEqual([keys[2], keys[3], keys[5]])
      expect(mail.isComplete(index.cursor, new Date(now - 20 * DAY_MS))).toBe(true)

      index.since = new Date(now - 60 * DAY_MS)
      expect(mail.isComplete(index.cursor, index.since)).toBe(false)
      index.takeSteps()
      await index.follow(mail)

      expect(mail.isComplete(index.cursor, index.since)).toBe(true)
      expect(index.keys()).toEqual(keys.slice(1))
      const origins = index
        .takeSteps()
        .flatMap(step => (step.type === 'arrived' && step.messages.length > 0 ? [step.origin] : []))
      expect(new Set(origins)).toEqual(new Set(['widened']))
      index.since = null
      await index.follow(mail)
      expect(index.keys()).toEqual(keys)
    })
  })

  describeWatching(name, setUp)
}

async function failureOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'none',
    (error: unknown) => (error instanceof ProviderFailure ? error.kind : String(error)),
  )
}
